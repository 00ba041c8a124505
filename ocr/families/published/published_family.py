"""The document models that transformers' own classes load, whichever they are. Torch-free."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ocr.families.family import ViewMaker
from ocr.families.published.entry_family import EntryFamily
from ocr.families.published.published_models import published_models
from ocr.families.whole_page import WholePage

# An A4 page at 250 dpi: more than any of them keeps.
_MOST_PX = 6_000_000


class PublishedFamily(EntryFamily):
    name = "models that transformers loads (ocr/families/published/models.yaml)"
    module = "ocr.families.published.published_loading"
    # What their processors and classes read besides weights, config.json and tokenizer.json.
    files = ("*.json", "*.jinja", "*.txt", "*.model")

    def knows(self, config: Mapping[str, Any]) -> bool:
        return config.get("model_type") in {kind for model in published_models() for kind in model.types}

    def view_maker(self, directory: Path) -> ViewMaker:
        return WholePage(most_px=_MOST_PX)
