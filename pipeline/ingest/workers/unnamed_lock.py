"""A lock between processes that no file system lists, so that a kill of all of them leaves nothing (Linux).

The semaphores of multiprocessing have names in /dev/shm, which stay where the process that would remove them is killed.
"""

import os
import weakref
from multiprocessing import reduction
from typing import Any


class UnnamedLock:
    """A lock that a process may take again while it has it. One thread of each process uses it.

    It goes with the process that has it, however that ends.
    """

    def __init__(self) -> None:
        """Makes the lock. Raises: OSError where no file can be opened."""
        self._hold(os.memfd_create("ocrbatch-lock", os.MFD_CLOEXEC))

    def _hold(self, file: int) -> None:
        self._file, self._depth = file, 0
        weakref.finalize(self, os.close, file)

    def __getstate__(self) -> Any:
        return reduction.DupFd(self._file)

    def __setstate__(self, file: Any) -> None:
        self._hold(file.detach())

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        """Takes the lock and returns whether it was free. timeout: ignored, as no process keeps it and ends."""
        if not self._depth:
            try:
                os.lockf(self._file, os.F_LOCK if block else os.F_TLOCK, 0)
            except BlockingIOError:
                return False
        self._depth += 1
        return True

    def release(self) -> None:
        """Gives the lock back, once for each time it was taken."""
        self._depth -= 1
        if not self._depth:
            os.lockf(self._file, os.F_ULOCK, 0)
