"""The families of models that there are. Torch-free."""

import hashlib
from pathlib import Path

from ocr.errors import CheckpointError
from ocr.families.deepseek.deepseek_family import DeepSeekFamily
from ocr.families.family import Family, ModelFacts
from ocr.families.minicpm.minicpm_family import MiniCpmFamily
from ocr.families.published.published_family import PublishedFamily
from ocr.families.qwen_vl.qwen_family import QwenVlFamily
from ocr.families.unlimited_ocr.unlimited_family import UnlimitedFamily
from ocr.model_files.fingerprint import weights_sha256
from ocr.model_files.locate import find_directory, read_json

FAMILIES: tuple[Family, ...] = (
    DeepSeekFamily(),
    MiniCpmFamily(),
    QwenVlFamily(),
    UnlimitedFamily(),
    PublishedFamily(),
)


def family_of(directory: Path) -> Family:
    """Returns the family of the model in a directory. Raises: CheckpointError for one that none loads."""
    config = read_json(directory / "config.json")
    for family in FAMILIES:
        if family.knows(config):
            return family
    raise CheckpointError(
        f"{directory / 'config.json'}: model_type is {config.get('model_type')!r}, which none of these can load: "
        f"{', '.join(family.name for family in FAMILIES)}; choose such a model (ocr/families/README.md says how a "
        "family is added)"
    )


def described(
    name_or_path: str, entry: str | None = None, directory: Path | None = None
) -> tuple[Family, ModelFacts]:
    """Returns a model's family, and what is known of it before it is loaded.

    entry: see ModelFacts. directory: of the model, where it is known. Raises: CheckpointError.
    """
    directory = directory or find_directory(name_or_path)
    family = family_of(directory)
    if entry is not None and not family.has_entries:
        raise CheckpointError(
            f"model_entry is {entry!r}, but {family.name} has no entries in ocr/families/published/models.yaml; "
            "leave model_entry out for this model"
        )
    return family, ModelFacts(name=name_or_path, config=read_json(directory / "config.json"), entry=entry)


def model_sha256(name_or_path: str, entry: str | None = None) -> str:
    """Returns the sha256 over all files of a model that a reading depends on, and its family's defaults for it.

    entry: see ModelFacts. Raises: CheckpointError.
    """
    family, facts = described(name_or_path, entry)
    files, defaults = weights_sha256(name_or_path, family.files), family.defaults(facts)
    return hashlib.sha256((files + defaults).encode()).hexdigest() if defaults else files
