"""Decides which entry of models.yaml a model is, by what it says itself: never by its folder's name. Torch-free."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ocr.errors import CheckpointError
from ocr.families.catalogue.published_models import PublishedModel, find_model, published_models

# Where config.json has a language model's sizes, if not beside the other keys.
_SECTIONS = ("text_config", "language_config", "llm_config")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What is known of a model before it is loaded. name: as the user gave it. config: its config.json.

    entry: the entry of models.yaml that the user says it is, None to go by the rest.
    """

    name: str
    config: Mapping[str, Any]
    entry: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """The entry that a model is taken for. reason: why, to follow its name after a comma."""

    model: PublishedModel
    reason: str


def known_model(facts: ModelFacts) -> KnownModel:
    """Returns what is known of a model of a type that the table has.

    The first that decides: the entry that the user names; the repository that the user names; the name that config.json
    gives itself, as transformers once wrote it; its type and sizes. Raises: CheckpointError for an entry that is not in
    the table, or of another type.
    """
    if facts.entry is not None:
        return KnownModel(model=_named(facts.entry, facts.config), reason="as model_entry says")
    if not Path(facts.name).expanduser().is_dir() and (found := _fitting(facts.name, facts.config)):
        return KnownModel(model=found, reason="by the repository's name")
    given = str(facts.config.get("_name_or_path") or "")
    if found := _fitting("/".join(Path(given).parts[-2:]), facts.config):
        return KnownModel(model=found, reason=f"by the name in its config.json, {given}")
    return _by_type(facts.config)


def _named(entry: str, config: Mapping[str, Any]) -> PublishedModel:
    by_name = (model for model in published_models() if model.name.lower() == entry.lower())
    found = next(by_name, None) or find_model(entry)
    if found is None:
        raise CheckpointError(
            f"model_entry: {entry!r} is no entry of ocr/families/catalogue/models.yaml and no repository of one; "
            f"for this model choose {_choices(config)}"
        )
    if config.get("model_type") not in found.types:
        raise CheckpointError(
            f"model_entry: {found.name} is of type {' or '.join(found.types)}, this model's config.json says "
            f"{config.get('model_type')!r}; choose {_choices(config)}"
        )
    return found


def _choices(config: Mapping[str, Any]) -> str:
    return " or ".join(repr(model.name) for model in _of_type(config))


def _fitting(repository: str, config: Mapping[str, Any]) -> PublishedModel | None:
    """Returns the entry for a repository, unless config.json is of another type: then the name means something else."""
    found = find_model(repository)
    return found if found is not None and config.get("model_type") in found.types else None


def _by_type(config: Mapping[str, Any]) -> KnownModel:
    kind = config.get("model_type")
    fitting = _of_type(config)
    sized = [model for model in fitting if model.sizes and _has(config, model.sizes)]
    if sized:
        reason = f"by its type, {kind}, and " + ", ".join(
            f"{key} {value}" for key, value in sized[0].sizes.items()
        )
        return KnownModel(model=sized[0], reason=reason + _others(fitting, sized[0]))
    # Entries for all models of a type are last, after those for special ones.
    plain = [model for model in fitting if not model.sizes] or fitting
    chosen = next((model for model in reversed(plain) if model.model_type == kind), plain[-1])
    return KnownModel(model=chosen, reason=f"by its type, {kind}" + _others(fitting, chosen))


def _others(fitting: list[PublishedModel], chosen: PublishedModel) -> str:
    others = [model.name for model in fitting if model is not chosen]
    return f"; if it is {' or '.join(others)}, set model_entry" if others else ""


def _of_type(config: Mapping[str, Any]) -> list[PublishedModel]:
    return [model for model in published_models() if config.get("model_type") in model.types]


def _has(config: Mapping[str, Any], sizes: Mapping[str, object]) -> bool:
    """Returns whether config.json has all of these values, in its language model's section if there is one."""
    sections = (config[key] for key in _SECTIONS if isinstance(config.get(key), Mapping))
    section: Mapping[str, Any] = next(sections, {})
    return all(section.get(key, config.get(key)) == value for key, value in sizes.items())
