"""The families of models that there are. Torch-free."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ocr.errors import CheckpointError
from ocr.families.catalogue.known_model import ModelFacts
from ocr.families.catalogue.published_models import published_models
from ocr.families.family import Family
from ocr.families.minicpm.slicing import SlicingRule
from ocr.families.minicpm.versions import MODEL_TYPE as MINICPM
from ocr.families.minicpm.video_slicing import video_slicing
from ocr.families.qwen_vl.qwen_resizing import QwenResizing, QwenVideos, read_resizing
from ocr.families.unlimited_ocr.unlimited_views import read_views, without_tiles
from ocr.families.view_makers import WholePage
from ocr.model_files.fingerprint import weights_sha256
from ocr.model_files.locate import find_directory, has_lines, read_json

_PROCESSING = ("generation_config.json", "preprocessor_config.json", "processor_config.json")


def _is_deepseek(config: Mapping[str, Any]) -> bool:
    """Returns whether it is DeepSeek-OCR; its successor's own repository gives the same type."""
    vision = config.get("vision_config")
    widths = vision.get("width") if isinstance(vision, Mapping) else None
    is_other = isinstance(widths, Mapping) and "clip-l-14-224" not in widths
    return config.get("model_type") == "deepseek_vl_v2" and not is_other


def _of_types(*types: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda config: config.get("model_type") in types


def _qwen_resizing(directory: Path) -> QwenResizing:
    return read_resizing(directory, str(_config(directory).get("model_type")))


def _config(directory: Path) -> dict[str, Any]:
    return read_json(directory / "config.json")


# Upstream's scripts have other n-grams for PDF files than for images.
DEEPSEEK = Family(
    name="DeepSeek-OCR",
    module="ocr.families.deepseek.deepseek_loading",
    knows=_is_deepseek,
    has_entries=False,
    ngrams={"pdf": (20, 50), "image": (30, 90)},
)
FAMILIES = (
    DEEPSEEK,
    Family(
        name="MiniCPM-V 2.5 to 4.5",
        module="ocr.families.minicpm.minicpm_model",
        knows=_of_types(MINICPM),
        view_maker=lambda directory: SlicingRule.from_json(_config(directory)),
        video_maker=lambda directory: video_slicing(_config(directory)),
        several=lambda views: views,
        has_entries=False,
    ),
    Family(  # olmOCR-2 and Nanonets-OCR2 as well
        name="Qwen3-VL and Qwen2.5-VL",
        module="ocr.families.qwen_vl.qwen_reader",
        knows=_of_types("qwen3_vl", "qwen2_5_vl"),
        view_maker=_qwen_resizing,
        video_maker=lambda directory: QwenVideos(resizing=_qwen_resizing(directory)),
        several=lambda views: views,
        files=_PROCESSING,
    ),
    Family(  # the types are transformers', and of the publisher's own config.json
        name="Unlimited-OCR",
        module="ocr.families.unlimited_ocr.unlimited_reader",
        knows=_of_types("unlimited_ocr", "unlimited-ocr"),
        view_maker=read_views,
        several=without_tiles,
        files=_PROCESSING,
    ),
    Family(
        name="models that transformers loads (ocr/families/catalogue/models.yaml)",
        module="ocr.families.published.published_reader",
        knows=lambda config: (
            config.get("model_type") in {kind for its in published_models() for kind in its.types}
        ),
        # An A4 page at 250 dpi: more than any of them keeps.
        view_maker=lambda directory: WholePage(most_px=6_000_000),
        # What their processors and classes read besides weights, config.json and tokenizer.json.
        files=("*.json", "*.jinja", "*.txt", "*.model"),
    ),
)


def family_of(directory: Path) -> Family:
    """Returns the family of the page model in a directory. Raises: CheckpointError for one that none loads."""
    config = _config(directory)
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
            f"model_entry is {entry!r}, but {family.name} has no entries in ocr/families/catalogue/models.yaml; "
            "leave model_entry out for this model"
        )
    return family, ModelFacts(name=name_or_path, config=_config(directory), entry=entry)


def model_sha256(name_or_path: str, entry: str | None = None) -> str:
    """Returns the sha256 over all files of a model that a reading depends on, and its family's defaults for it.

    entry: see ModelFacts. Raises: CheckpointError.
    """
    if has_lines(find_directory(name_or_path)):
        if entry is not None:
            raise CheckpointError(
                f"model_entry is {entry!r}, but lines are read without a page model; leave it out"
            )
        return weights_sha256(name_or_path)
    family, facts = described(name_or_path, entry)
    files, defaults = weights_sha256(name_or_path, family.files), family.defaults(facts)
    return hashlib.sha256((files + defaults).encode()).hexdigest() if defaults else files
