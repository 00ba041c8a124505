"""Checks what the machine has left: disk space, memory, shared memory, descriptors."""

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pipeline.config.schema import Config
from pipeline.device.sizes import inflight_mb
from pipeline.device.startup.loading import render_workers
from pipeline.doctor.finding import Finding, fail, note, ok, size
from pipeline.ingest.workers.shared_memory import Arena

# A page takes 10 to 30 kB: its rows with its text twice, blocks, times and the search index.
_PAGE_BYTES = 30_000
_LEAST_BYTES, _FEW_PAGES = 256 << 20, 100_000
_TRIAL_BYTES = 16 << 20
# Memory of Python, PyTorch, the shipped model and the eight pages that it reads at once; and of a page in a worker. The
# most over 500 pages, measured by tests.benchmarks.runs.memory.
_PROGRAM_BYTES, _WORKER_BYTES = 2 << 30, 150 << 20
_OPEN_FILES = 256


def check_disk(config: Config) -> Iterator[Finding]:
    """Checks the free space for the database, and for temporary files and compiled kernels."""
    folder = os.path.dirname(os.path.realpath(config.store.database))
    places = {"disk of the database": folder, "disk of temporary files": tempfile.gettempdir()}
    for what, place in places.items():
        try:
            free = shutil.disk_usage(place).free
        except OSError as error:
            yield fail(what, f"{place}: {error.strerror}", "name a folder that exists")
            continue
        yield _space(what, place, free)


def _space(what: str, place: str, free: int) -> Finding:
    found = f"{size(free)} free in {place}"
    if free < _LEAST_BYTES:
        return fail(what, found, f"free some: at least {size(_LEAST_BYTES)}")
    if "database" not in what:
        return ok(what, found)
    pages = free // _PAGE_BYTES
    found += f", room for some {pages:,} pages at {_PAGE_BYTES // 1000} kB"
    return note(what, found, "more pages than that fill it") if pages < _FEW_PAGES else ok(what, found)


def check_memory(config: Config) -> Iterator[Finding]:
    """Checks the memory for pages in flight, shared memory, and the limits of this process."""
    available = available_bytes()
    if available is not None:
        yield _memory(available, config)
    yield from _shared()
    if sys.platform != "win32":
        yield from _limits()


def available_bytes(root: Path = Path("/")) -> int | None:
    """Returns the bytes that can be allocated without swapping, within the container's limit; None if unknown."""
    found = []
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
        found.append(int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]) << 10)
    with contextlib.suppress(OSError, ValueError):  # no cgroup v2, or "max": no limit
        group = root / "sys/fs/cgroup"
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        found.append(max(0, limit - int((group / "memory.current").read_text(encoding="ascii"))))
    return min(found, default=None)


def _memory(available: int, config: Config) -> Finding:
    workers, inflight = render_workers(config), inflight_mb(config, None)
    needed = _PROGRAM_BYTES + (inflight << 20) + workers * _WORKER_BYTES
    found = f"{size(available)} available, of which a run with the shipped model takes about {size(needed)}"
    if available < needed:
        return fail("memory", found, "lower run.inflight_mb or render.workers, or free some")
    return ok("memory", f"{found} (run.inflight_mb {inflight}, render.workers {workers})")


def _shared() -> Iterator[Finding]:
    """Checks shared memory for rendered pages: unnamed, so that /dev/shm does not limit it."""
    arena = Arena.where_possible(_TRIAL_BYTES)
    if arena is None:
        yield note("shared memory", "not available here: rendered pages come through pipes, which is slower")
    else:
        arena.close()
        yield ok("shared memory", "rendered pages go through it; it counts as memory, not against /dev/shm")


def _limits() -> Iterator[Finding]:
    import resource

    files, space = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS))
    if files != resource.RLIM_INFINITY and files < _OPEN_FILES:
        yield fail("open files", f"{files} allowed", f"ulimit -n {4 * _OPEN_FILES}")
    else:
        yield ok("open files", "no limit" if files == resource.RLIM_INFINITY else f"{files} allowed")
    if space != resource.RLIM_INFINITY:
        yield note(
            "address space",
            f"limited to {size(space)}",
            "ulimit -v unlimited: libraries map more than they use",
        )
