"""Which of the retry steps' models read beside the first one, and which pages wait for those that read after it.

Imports torch only for a GPU.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ocr.model_files.locate import find_directory, read_json, weight_files
from pipeline.config.schema import Config, with_model
from pipeline.device.sizes import available_bytes
from pipeline.rereading.attempts import PutOff

LOGGER = logging.getLogger("ocrbatch")
# A model's memory by that of its weights, with keys, values and buffers; and what its libraries take besides.
_SHARE, _REST_BYTES = 1.25, 1 << 30


class DeferredModels:
    """Decides, when a page first needs a model, whether that is loaded beside the others. For one event loop.

    models: by name, in the order of their steps. device: returns where the first model is.
    """

    def __init__(
        self,
        config: Config,
        models: Sequence[str],
        device: Callable[[], str | None],
    ) -> None:
        self._config, self._device = config, device
        self._waits: dict[str, bool] = {}
        self._pages: Mapping[str, list[PutOff]] = {name: [] for name in models}

    def waits(self, name: str) -> bool:
        """Returns whether pages have to wait for a model."""
        if name not in self._waits:
            self._waits[name] = self._is_later(name)
        return self._waits[name]

    def put_off(self, page: PutOff) -> None:
        """Notes a page that waits for its model."""
        self._pages[page.model].append(page)

    def begin(self, name: str) -> list[PutOff]:
        """Returns the pages that wait for a model, which from now on none does."""
        pages = list(self._pages[name])
        self._pages[name].clear()
        if pages:
            self._waits[name] = False
            LOGGER.info("%d pages that stayed in doubt are read with %s", len(pages), name)
        return pages

    def _is_later(self, name: str) -> bool:
        ladder = self._config.ladder
        if ladder.memory != "auto" or not ladder.may_be_in_turn:
            return ladder.memory == "in_turn"
        if fits_beside(with_model(self._config, name), self._device()):
            return False
        LOGGER.warning(
            "there is no room for model %s beside the first one: it reads what stays in doubt after that has read "
            "everything (ladder.memory)",
            name,
        )
        return True


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
