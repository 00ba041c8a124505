"""Tells whether a further model fits into memory beside what is loaded. Imports torch only for a GPU."""

import logging
from collections.abc import Iterable
from typing import Any

from ocr.model_files.locate import find_directory, read_json, weight_files
from pipeline.config.schema import Config
from pipeline.device.sizes import available_bytes

LOGGER = logging.getLogger("ocrbatch")
# A model's memory by that of its weights, with keys, values and buffers; and what its libraries take besides.
_SHARE, _REST_BYTES = 1.25, 1 << 30


def fits_beside(config: Config, device: str | None) -> bool:
    """Returns whether a configuration's model fits into the memory that is free now, also where that is not known.

    device: where the models are, "cuda" or "cpu". What it will take is told by the size of its files.
    Raises: CheckpointError.
    """
    directory, free = find_directory(config.model), free_bytes(device)
    on_disk = sum(path.stat().st_size for path in weight_files(directory))
    is_short = config.dtype == "bfloat16" or (config.dtype == "auto" and device == "cuda")
    stored = 4 if _dtype(read_json(directory / "config.json")) == "float32" else 2
    needed = int(_SHARE * on_disk * (2 if is_short else 4) / stored) + _REST_BYTES
    LOGGER.debug("model %s needs some %d MiB, free: %s", config.model, needed >> 20, free)
    return free is None or needed <= free


def free_bytes(device: str | None) -> int | None:
    """Returns the free memory of a device, with what torch keeps of it unused; None where that is not known."""
    if device != "cuda":
        return available_bytes()
    import torch

    try:
        free, _ = torch.cuda.mem_get_info()
        return int(free) + torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    except RuntimeError as error:
        LOGGER.debug("the GPU's free memory is not known: %s", error)
        return None


def _dtype(config: dict[str, Any]) -> str:
    """Returns the number format that a config.json states for its weights; bfloat16 where it does not."""
    sections: Iterable[Any] = (config, config.get("text_config"), config.get("language_config"))
    for section in sections:
        if isinstance(section, dict) and (named := section.get("dtype") or section.get("torch_dtype")):
            return str(named)
    return "bfloat16"
