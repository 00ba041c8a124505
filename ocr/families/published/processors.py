"""Loads a published model's processor, also where a part of it that pages do not need cannot be loaded."""

import inspect
from pathlib import Path
from typing import Any

import transformers
from transformers import AutoImageProcessor, AutoProcessor, AutoTokenizer
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

from ocr.errors import CheckpointError
from ocr.model_files.locate import read_json

_OWN = {"local_files_only": True, "trust_remote_code": False}
_CONFIGS = ("processor_config.json", "preprocessor_config.json", "tokenizer_config.json")


class _NoVideos:
    """Stands in for a video processor, of which torchvision is a part. Processors ask for these attributes."""

    slice_mode, downsample_mode, merge_size, num_frames, fps, _auto_class = False, "16x", 2, 1, 1, None


def load_processor(directory: Path) -> Any:
    """Returns a processor of pictures and text. Raises: CheckpointError, OSError, ValueError, ImportError."""
    try:
        processor = AutoProcessor.from_pretrained(directory, backend="pil", **_OWN)
    except (ImportError, ValueError):  # without torchvision, by the type of the video processor
        return _assembled(directory)
    # For some types transformers knows no processor, and returns the tokenizer instead.
    return processor if hasattr(processor, "tokenizer") else _assembled(directory)


def _assembled(directory: Path) -> Any:
    """Returns the processor made of its parts, with a stand-in for videos."""
    known = _class_of(directory)
    # It checks the classes of its parts, of which one is a stand-in.
    unchecked = {"check_argument_for_proper_class": lambda self, name, value: type(value)}
    bare = type(known.__name__, (known,), unchecked)
    tokenizer = AutoTokenizer.from_pretrained(directory, **_OWN)
    parts = {
        "image_processor": AutoImageProcessor.from_pretrained(directory, backend="pil", **_OWN),
        "tokenizer": tokenizer,
        "chat_template": tokenizer.chat_template,
    }
    if "video_processor" in known.get_attributes():
        parts["video_processor"] = _NoVideos()
    path, taken = directory / _CONFIGS[0], inspect.signature(known.__init__).parameters
    settings = read_json(path) if path.exists() else {}
    return bare(**{key: value for key, value in settings.items() if key in taken} | parts)


def _class_of(directory: Path) -> Any:
    """Returns the class that the model's files name, else the one that transformers has for its type."""
    for name in _CONFIGS:
        if (directory / name).exists() and (named := read_json(directory / name).get("processor_class")):
            found = getattr(transformers, str(named), None)
            if found is not None:
                return found
    kind = str(read_json(directory / "config.json").get("model_type"))
    if (known := getattr(transformers, str(PROCESSOR_MAPPING_NAMES.get(kind)), None)) is not None:
        return known
    raise CheckpointError(
        f"{directory}: none of {', '.join(_CONFIGS)} names a processor_class that transformers has; fetch all of the "
        "model's files, and see that transformers is as new as the model needs"
    )
