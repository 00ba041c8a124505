"""The families of models that there are. Torch-free."""

import hashlib
from pathlib import Path

from ocr.errors import CheckpointError
from ocr.families.deepseek.deepseek_family import DeepSeekFamily
from ocr.families.family import Family
from ocr.families.minicpm.minicpm_family import MiniCpmFamily
from ocr.families.published.published_family import PublishedFamily
from ocr.families.qwen_vl.qwen_family import QwenVlFamily
from ocr.model_files.fingerprint import weights_sha256
from ocr.model_files.locate import find_directory, read_json

FAMILIES: tuple[Family, ...] = (
    DeepSeekFamily(),
    MiniCpmFamily(),
    QwenVlFamily(),
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


def model_sha256(name_or_path: str) -> str:
    """Returns the sha256 over all files of a model that a reading depends on, and its family's defaults for it.

    Raises: CheckpointError.
    """
    directory = find_directory(name_or_path)
    family = family_of(directory)
    files = weights_sha256(name_or_path, family.files)
    defaults = family.defaults(name_or_path, read_json(directory / "config.json"))
    return hashlib.sha256((files + defaults).encode()).hexdigest() if defaults else files


def family_of_model(name_or_path: str) -> Family:
    """Returns the family of a model by its name. Raises: CheckpointError."""
    return family_of(find_directory(name_or_path))
