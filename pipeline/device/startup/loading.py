"""Loads the model onto its device. Imports torch, but only when there is something to read."""

import functools
import importlib.metadata
import logging
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ocr.families.family import Loading, NumberFormat
from pipeline.config.encoder_section import graph_settings
from pipeline.config.schema import Config, reads_lines
from pipeline.device.sizes import decode_slots, inflight_mb
from pipeline.device.startup.imports import one_at_a_time
from pipeline.errors import ConfigError, PipelineError
from pipeline.ingest.workers.limits import keep_freed_memory

if TYPE_CHECKING:
    import torch

    from encoders.graphs.ranks import Rank
    from encoders.vision_encoder import PageEncoder
    from ocr.decoding.gpu.reader import PagedReader
    from ocr.families.page_model import PageModel
    from pipeline.device.run_encoder import RunEncoder

LOGGER = logging.getLogger("ocrbatch")
# A GPU that runs the line reader's networks for 16 CPUs is busy for a sixth of the time; one that serves few answers
# sooner.
_CPUS_OF_LINE_GPU = 8
# Each line reader takes 200 MiB of its own.
_MOST_LINE_READERS = 16
# Beside a GPU, run.inflight_mb for each page that may be read again at once: 128 pages by default.
_REREADING_MB = 32
# Signs of a GPU driver: NVIDIA's, and that of Windows Subsystem for Linux.
_DRIVERS = ("/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg")


def load_model(config: Config) -> "PageModel":
    """Returns the configured model. For any thread.

    The system reads the weights ahead while the libraries are imported. Raises: CheckpointError; ConfigError for a
    device that this machine does not have.
    """
    calm_threads()
    from ocr.model_files.locate import find_directory, read_ahead, weight_files

    directory = find_directory(config.model)
    read_ahead(weight_files(directory))
    with one_at_a_time():
        import torch

        device = choose_device(config.device)
        if device == "cuda":
            begin_waking()
            importlib.import_module("ocr.decoding.gpu.reader")  # which the decoder's thread needs
        importlib.import_module("ocr.checkpoints.checkpoint")
        from ocr.families.registry import family_of

    torch.set_num_threads(config.threads or available_cpus())
    dtype = choose_dtype(config.dtype, device)
    if device == "cpu":
        keep_freed_memory()
    asked = Loading(
        directory=directory,
        name=config.model,
        device=device,
        dtype=dtype,
        encoder_dtype=dtype if config.encoder.dtype == "auto" else config.encoder.dtype,
        prompt=config.decode.prompt,
        entry=config.model_entry,
    )
    return family_of(directory).load(asked)


def is_model_likely(config: Config) -> bool:
    """Returns whether pages that were not read before need the model, as far as the configuration tells."""
    return config.text_layer != "prefer"


def is_sure_to_read(config: Config) -> bool:
    """Returns whether a page model is almost certainly needed: it reads pages first, and there is no database yet."""
    return is_model_likely(config) and not os.path.exists(config.store.database) and not reads_lines(config)


def open_encoder(loaded: "PageModel", config: Config) -> "RunEncoder":
    """Returns the model's encoder with a graph manager around it, not warmed up yet; the caller closes it.

    Raises: ConfigError for budgets of paths that it has not.
    """
    from pipeline.device.run_encoder import RunEncoder

    mode = config.tile.mode
    encoder = loaded.vision_encoder(mode)
    settings = graph_settings(config.encoder)
    listed = settings.budgets if isinstance(settings.budgets, Mapping) else {}
    if unknown := sorted(set(listed) - {path.name for path in encoder.paths}):
        paths = ", ".join(path.name for path in encoder.paths) or "none with graphs"
        raise ConfigError(f"encoder.budgets.{unknown[0]}: this model has no such path; it has {paths}")
    for path in listed:
        if path not in encoder.usual_axes:
            LOGGER.warning("encoder.budgets.%s has no effect: tile.mode %s makes no views for it", path, mode)
    if config.encoder.graphs == "on" and not (encoder.paths and encoder.device.type == "cuda"):
        reason = (
            "graphs need an NVIDIA GPU"
            if encoder.paths
            else "this model's encoder runs without a graph manager"
        )
        LOGGER.warning("encoder.graphs: on has no effect: %s", reason)
    return RunEncoder(encoder, settings, _further_ranks(encoder, config.cluster.num_ranks))


def _further_ranks(encoder: "PageEncoder", num_ranks: int) -> "list[Rank]":
    """Returns the paths and devices that the encoder is shared out over besides its own. Raises: ConfigError."""
    key = f"cluster.encoder_parallel: {num_ranks}"
    if num_ranks > 1 and not encoder.paths:
        LOGGER.warning("%s has no effect: this model's encoder takes whole pages, one by one", key)
        return []
    devices = rank_devices(encoder.device, num_ranks)
    if len(devices) < num_ranks:
        raise ConfigError(f"{key}: the model has {len(devices)} GPUs here; set at most that many, or auto")
    return [encoder.rank_on(device) for device in devices[1:]]


def rank_devices(first: "torch.device", num_ranks: int) -> "list[torch.device]":
    """Returns so many devices for one encoder, the first one's first; fewer where there are no more GPUs."""
    import torch

    if num_ranks == 1:
        return [first]
    if first.type != "cuda":
        return []
    others = (
        torch.device("cuda", index) for index in range(torch.cuda.device_count()) if index != first.index
    )
    return [first, *others][:num_ranks]


def open_paged(loaded: "PageModel", config: Config) -> "PagedReader | None":
    """Returns the model's paged engine, ready to read, where it has one for its device; the caller closes it.

    Call it after everything else that stays on the GPU is there: the engine takes a share of the free memory. Returns
    None where the engine does not apply, and with a warning where it cannot be used.
    """
    try:
        return loaded.paged_reader(
            prompt=config.decode.prompt or loaded.prompt,
            slots=decode_slots(config, "cuda"),
            max_tokens=config.decode.max_tokens,
        )
    except PipelineError:  # ends the run with any engine
        raise
    except Exception as error:
        LOGGER.warning(
            "the language model's paged engine cannot be used: %s; going on without it, only slower",
            " ".join(f"{type(error).__name__}: {error}".split())[:300],
        )
        return None


@functools.cache
def begin_waking() -> None:
    """Begins to wake the GPU, in a thread, in parallel to imports; call it once torch is imported.

    At its end the interpreter waits for the thread: ended within an operator, it would crash the process.
    """
    import torch

    threading.Thread(target=wake_device, args=(torch.device("cuda"),)).start()


def wake_device(device: "torch.device") -> None:
    """Creates a GPU's context and loads its libraries ahead: it takes a second.

    It also wakes Triton, which hashes all of its own files before its first kernel.
    """
    import torch

    try:
        square = torch.ones(64, 64, dtype=torch.bfloat16, device=device)
        (square @ square).sum().item()
        with one_at_a_time():
            from encoders.pointwise import add_norm
        with torch.inference_mode():
            add_norm(square, None, torch.nn.LayerNorm(64, dtype=square.dtype, device=device))
    except RuntimeError as error:  # the first real use of the device meets the error too and explains it
        LOGGER.debug("the device does not wake up", exc_info=error)


def choose_device(asked: str) -> str:
    """Returns the device to use, "cuda" or "cpu". Raises: ConfigError for a device that this machine does not have."""
    import torch

    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if asked == "cuda" and not torch.cuda.is_available():
        raise ConfigError("device: cuda was asked for, but PyTorch finds no CUDA GPU; use auto or cpu")
    return asked


def choose_dtype(asked: str, device: str) -> NumberFormat:
    """Returns the language model's dtype on a device, "bfloat16" or "float32"."""
    is_short = asked == "bfloat16" or (asked == "auto" and device == "cuda")
    return "bfloat16" if is_short else "float32"


def calm_threads() -> None:
    """Makes waiting OpenMP threads sleep instead of spin; must be called before torch is first imported.

    With one other process busy on two cores, spinning turned 5 ms a token into 130.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("KMP_BLOCKTIME", "0")


def with_word_use(config: Config) -> Config:
    """Returns the configuration with `words: auto` resolved for this machine: by the line reader where no GPU reads.

    A GPU reads 23 pages a second, whose words take the line reader 1.4 CPU seconds each: a run would wait for them.
    """
    if config.words != "auto":
        return config
    is_fast = config.device != "cpu" and _may_have_gpu()
    return config.model_copy(update={"words": "layer" if is_fast else "lines"})


def available_cpus() -> int:
    """Returns how many CPUs this process may use, by its affinity and its container's quota."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        limit = int(quota) // int(period)
    except (OSError, ValueError):  # no cgroup v2, or "max": no quota
        return cpus
    return max(1, min(cpus, limit))


def threads_each() -> int:
    """Returns how many threads the encoder and the language model get each, so that both together use all CPUs.

    On two CPUs, with as many threads as CPUs for each of them, 24 pages took 63 s instead of 54 and 22% more CPU time.
    """
    return max(1, available_cpus() // 2)


def render_workers(config: Config) -> int:
    """Returns the number of worker processes, few as a page is rendered far faster than it is read."""
    return config.render.workers or max(1, min(16, available_cpus() // 2))


def line_gpus(config: Config) -> list[str]:
    """Returns the GPUs that are to run the line reader's networks, as visible_gpus() names them. Torch-free.

    There is one for every few CPUs, which have far more to do. Raises: ConfigError for a GPU that was asked for where
    there is no driver for one.
    """
    if config.device == "cuda" and not _may_have_gpu():
        raise ConfigError("device: cuda was asked for, but this machine has no GPU driver; use auto or cpu")
    if config.device == "cpu" or not _may_have_gpu():
        return []
    from pipeline.device.gpu_meter import visible_gpus

    return visible_gpus()[: max(1, available_cpus() // _CPUS_OF_LINE_GPU)]


def count_gpus() -> int:
    """Returns the number of GPUs that this process may use, as the driver says: workers would wait for an import."""
    if not _may_have_gpu() or importlib.metadata.version("torch").endswith("+cpu"):
        return 0
    from pipeline.device.gpu_meter import gpu_bytes, visible_gpus

    names = visible_gpus(known := len(gpu_bytes()))
    if len({*names}.intersection(map(str, range(known)))) == len(names):
        return len(names)
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def line_readers(config: Config) -> int:
    """Returns the number of processes that read lines: reading takes about twice as long as rendering.

    With a GPU, for which they wait now and then, there are a few more than CPUs.
    """
    cpus = available_cpus()
    if config.device != "cpu" and _may_have_gpu():
        return config.threads or cpus + cpus // 4
    return config.threads or max(1, min(_MOST_LINE_READERS, cpus - cpus // 4))


def word_readers(config: Config) -> int:
    """Returns the number of processes that find words for a page model, which needs CPUs itself: half of them."""
    return config.threads or max(1, min(_MOST_LINE_READERS, available_cpus() // 2))


def rereadings(config: Config, device: str | None) -> int:
    """Returns how many pages may be read again at once; their views come on top of those of run.inflight_mb.

    On a CPU as many as are decoded at once: a step of several pages costs little more than one of a single page. A GPU
    reads hundreds at once, and each takes seconds: with 8 on 16 CPUs a run of 900 pages spent two thirds of its time
    rereading, with nothing else to do. device: the model's.
    """
    at_once = (
        inflight_mb(config, device) // _REREADING_MB if device == "cuda" else decode_slots(config, "cpu")
    )
    return max(render_workers(config), at_once)


def _may_have_gpu() -> bool:
    """Returns whether there is a GPU driver and CUDA may see a GPU."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip()
    return visible not in ("", "-1") and any(Path(path).exists() for path in _DRIVERS)
