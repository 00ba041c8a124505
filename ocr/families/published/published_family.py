"""The document models that transformers' own classes load, whichever they are. Torch-free."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ocr.families.family import Family, ViewMaker
from ocr.families.published.published_models import PublishedModel, find_model, published_models
from ocr.families.whole_page import WholePage

# An A4 page at 250 dpi: more than any of them keeps.
_MOST_PX = 6_000_000


class PublishedFamily(Family):
    name = "models that transformers loads (ocr/families/published/models.yaml)"
    module = "ocr.families.published.published_loading"
    # What their processors and classes read besides weights, config.json and tokenizer.json.
    files = ("*.json", "*.jinja", "*.txt", "*.model")

    def knows(self, config: Mapping[str, Any]) -> bool:
        return config.get("model_type") in {
            kind for model in published_models() for kind in (model.model_type, model.published_type)
        }

    def defaults(self, name: str, config: Mapping[str, Any]) -> str:
        return defaults(name, config)

    def restriction(self, name: str, config: Mapping[str, Any]) -> str | None:
        return restriction(name, config)

    def view_maker(self, directory: Path) -> ViewMaker:
        return WholePage(most_px=_MOST_PX)


def defaults(name: str, config: Mapping[str, Any]) -> str:
    """Returns what the table decides of a reading; see Family.defaults."""
    known = known_model(name, config)
    settings = (known.prompts["page"], known.prompting, dict(known.template), dict(known.processor))
    return repr((*settings, known.stop, known.longest_px, known.output_format))


def restriction(name: str, config: Mapping[str, Any]) -> str | None:
    """Returns what the table says against commercial use of a model; see Family.restriction."""
    licence = known_model(name, config).licence
    return (
        None if licence.commercial == "allowed" else f"{licence.name}: commercial use is {licence.commercial}"
    )


def known_model(name: str, config: Mapping[str, Any]) -> PublishedModel:
    """Returns what is known of a model: by its name, else by the name that its config.json gives, else by its type.

    config: of a model that PublishedFamily knows.
    """
    given = str(config.get("_name_or_path", ""))
    by_name = find_model(name) or find_model(given) or find_model("/".join(Path(name).parts[-2:]))
    if by_name is not None:
        return by_name
    kind = config.get("model_type")
    fitting = [model for model in published_models() if kind in (model.model_type, model.published_type)]
    # Entries for all models of a type are last, after those for special ones.
    return next((model for model in reversed(fitting) if model.model_type == kind), fitting[-1])
