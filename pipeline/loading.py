"""The model on its device. Imports torch, and that only when the first page is ready to be read."""

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config import Config
from pipeline.errors import ConfigError, PipelineError

if TYPE_CHECKING:
    from ocr.checkpoint import LoadedModel
    from ocr.paged.reader import PagedReader
    from pipeline.run_encoder import RunEncoder

LOGGER = logging.getLogger("ocrbatch")
# Pages read at once. A CPU gains little beyond 8; a GPU reads the weights once for all of them.
BATCH_SIZES = {"cpu": 8, "cuda": 32}


def load_model(config: Config) -> "LoadedModel":
    """Returns the configured model. Raises: CheckpointError; ConfigError for a device that is not here."""
    calm_threads()
    import torch

    from ocr import checkpoint

    device = choose_device(config.device)
    torch.set_num_threads(config.threads or available_cpus())
    name = choose_dtype(config.dtype, device)
    asked = config.encoder.dtype
    return checkpoint.load(
        config.model,
        device=torch.device(device),
        dtype=getattr(torch, name),
        encoder_dtype=getattr(torch, name if asked == "auto" else asked),
    )


def open_encoder(loaded: "LoadedModel", config: Config) -> "RunEncoder":
    """Returns the model's encoder with the graph manager around it, not warmed up yet; the caller closes it.

    Raises: ConfigError for budgets that do not fit the mode.
    """
    from pipeline.run_encoder import RunEncoder

    return RunEncoder(loaded.model.encoder, config)


def open_paged(loaded: "LoadedModel", config: Config) -> "PagedReader | None":
    """Returns the model's paged engine for CUDA and a 16-bit number format, ready to read; the caller closes it.

    To be called when all else that stays on the GPU is there: the engine takes a share of what is free. None where
    there is no use for it, and with a warning where it cannot be used.
    """
    weight = loaded.model.lm_head.weight
    if weight.device.type != "cuda" or weight.dtype.itemsize != 2:
        return None
    slots = config.decode.batch_size or BATCH_SIZES["cuda"]
    try:
        from ocr.paged.reader import PagedReader

        return PagedReader.open(loaded, slots=slots, max_tokens=config.decode.max_tokens)
    except PipelineError:  # ends the run whatever reads
        raise
    except Exception as error:
        LOGGER.warning(
            "the language model's paged engine cannot be used: %s; going on without it, only slower",
            " ".join(f"{type(error).__name__}: {error}".split())[:300],
        )
        return None


def choose_device(asked: str) -> str:
    """Returns "cuda" or "cpu". Raises: ConfigError for a device that is not here."""
    import torch

    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if asked == "cuda" and not torch.cuda.is_available():
        raise ConfigError("device: cuda was asked for, but PyTorch finds no CUDA GPU; use auto or cpu")
    return asked


def choose_dtype(asked: str, device: str) -> str:
    """Returns "bfloat16" or "float32"."""
    return asked if asked != "auto" else "bfloat16" if device == "cuda" else "float32"


def calm_threads() -> None:
    """Lets waiting OpenMP threads sleep; must come before torch is first imported.

    By default they spin. With one other process busy on two cores, that turned 5 ms a token into 130.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("KMP_BLOCKTIME", "0")


def available_cpus() -> int:
    """Returns how many CPUs this process may use: affinity and the container's quota respected."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        limit = int(quota) // int(period)
    except (OSError, ValueError):  # no cgroup v2, or "max": no quota
        return cpus
    return max(1, min(cpus, limit))


def render_workers(config: Config) -> int:
    """Returns the number of worker processes: a page is rendered far faster than it is read."""
    return config.render.workers or max(1, min(16, available_cpus() // 2))
