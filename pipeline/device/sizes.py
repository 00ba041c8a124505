"""Decides how much a run does at once: pages per batch, decoding slots, and bytes."""

from contextlib import suppress
from pathlib import Path

from pipeline.config.schema import Config

DECODE_SLOTS = {"cpu": 8, "cuda": 256}
ENCODE_PAGES = {"cpu": 1, "cuda": 32}

# A page's views take 3 MB and 1.2 MB more for each tile: at about 10 MB a page, 390 pages.
_INFLIGHT_MB, _INFLIGHT_GPU_MB, _INFLIGHT_SHARE = 512, 4096, 0.25
_LINE_READER_MB = 20  # the page that is read and some that wait: A4 in grey takes 4 MB at 200 dpi, 9 at 300
_KV_SHARE = 0.5  # of the memory that is free, on a CPU


def encode_pages(config: Config, device: str) -> int:
    """Returns how many pages the encoder takes at once: on a GPU a batch costs far less than its pages one by one."""
    most = ENCODE_PAGES[device]
    return min(most, config.decode.batch_size) if config.decode.batch_size else most


def decode_slots(config: Config, device: str) -> int:
    """Returns how many pages are decoded at once."""
    return config.decode.batch_size or DECODE_SLOTS[device]


def inflight_mb(config: Config, device: str | None, line_readers: int = 0) -> int:
    """Returns how many MiB of rendered pages may wait for the model or be in it.

    device: the model's, None while it is not known. line_readers: how many processes read a page each. It is enough to
    keep all slots of a GPU filled and all these processes at work, up to a quarter of the memory.
    """
    if config.run.inflight_mb is not None:
        return config.run.inflight_mb
    available = available_bytes()
    most = _INFLIGHT_MB if available is None else int(_INFLIGHT_SHARE * available) >> 20
    wanted = _INFLIGHT_GPU_MB if device == "cuda" else _LINE_READER_MB * line_readers
    return max(_INFLIGHT_MB, min(wanted, most))


def kv_bytes(device: str) -> int | None:
    """Returns the most bytes that keys and values may take in an engine without its own cache; None if unknown."""
    if device != "cpu":
        return None
    free = available_bytes()
    return None if free is None else int(_KV_SHARE * free)


def available_bytes(root: Path = Path("/")) -> int | None:
    """Returns the bytes that can be allocated without swapping, within the container's limit; None if unknown."""
    found = []
    with suppress(OSError, ValueError, KeyError):
        found.append(_numbers(root / "proc/meminfo")["MemAvailable:"] << 10)
    with suppress(OSError, ValueError, KeyError):  # no cgroup v2, or "max": no limit
        group = root / "sys/fs/cgroup"
        limit, used = (
            int((group / f"memory.{name}").read_text(encoding="ascii")) for name in ("max", "current")
        )
        # Files that were read count as used, and are dropped for whoever needs memory.
        found.append(max(0, limit - used + _numbers(group / "memory.stat")["inactive_file"]))
    return min(found, default=None)


def _numbers(path: Path) -> dict[str, int]:
    """Returns name -> number of a file that has both in each line."""
    lines = map(str.split, path.read_text(encoding="ascii").splitlines())
    return {name: int(number) for name, number, *_ in lines}
