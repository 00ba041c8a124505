"""Sets the limits that a worker puts on itself and the kernel enforces. Torch-free.

Address space, so that a decompression bomb costs only its page; no file may be written or grow, as a worker's results
go through a pipe or into mapped memory that the run has sized; no core dump, which would contain a user's page; few
open files; no program with more privileges than the worker's own. Processes are not limited: RLIMIT_NPROC counts all of
the user's programs, not only the worker's.
"""

import contextlib
import ctypes
import math
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

# A worker holds its pipes, the page's file and the shared memory.
OPEN_FILES = 256
# linux/prctl.h
_PR_SET_NO_NEW_PRIVS = 38
_ORPHAN_GRACE_S = 10.0
# malloc.h
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def limit_process(memory_bytes: int | None) -> None:
    """Limits this process for good. memory_bytes: what it may allocate from here on, None for no limit.

    Memory and privileges are limited on Linux only.
    """
    _lower(resource.RLIMIT_CORE, 0, for_good=True)
    # Growing or writing a file fails with EFBIG; Python ignores SIGXFSZ. Pipes and mapped memory are not files here.
    _lower(resource.RLIMIT_FSIZE, 0, for_good=True)
    _lower(resource.RLIMIT_NOFILE, OPEN_FILES, for_good=True)
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if memory_bytes is not None:
        used_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _lower(resource.RLIMIT_AS, used_bytes + memory_bytes)


@contextlib.contextmanager
def killed_if_hung(limit_s: float) -> Iterator[None]:
    """Has the kernel kill the process if the block hangs in C and no parent is left to kill it."""
    end_s = 2 * limit_s + _ORPHAN_GRACE_S
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, end_s)
    try:
        with cpu_time(end_s):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextlib.contextmanager
def cpu_time(limit_s: float) -> Iterator[None]:
    """Has the kernel kill the process (SIGXCPU) if the block uses more CPU time than limit_s, all threads together.

    A limit of wall time alone would let a library's threads use many times as much.
    """
    before = resource.getrlimit(resource.RLIMIT_CPU)
    used = resource.getrusage(resource.RUSAGE_SELF)
    _lower(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime + limit_s))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, before)


def _lower(kind: int, limit: int, *, for_good: bool = False) -> None:
    """Lowers a limit unless it is lower already. for_good: the process cannot raise it again."""
    soft, hard = resource.getrlimit(kind)
    most = min((value for value in (soft, hard, limit) if value != resource.RLIM_INFINITY), default=limit)
    resource.setrlimit(kind, (most, most if for_good else hard))


def keep_freed_memory() -> None:
    """Makes glibc keep up to 512 MiB of freed memory for later allocations.

    By default it returns large blocks at once, and the kernel clears each of their pages again when it is next touched:
    a fifth of the CPU time of reading a page, and half of the system time of rendering one.
    """
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError, AttributeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, 32 << 20)
        libc.mallopt(_M_TRIM_THRESHOLD, 512 << 20)
