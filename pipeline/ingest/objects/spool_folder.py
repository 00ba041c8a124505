"""A spool's folder: readable by its owner alone, and removed by the next run if its own was killed."""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

_PREFIX, _LOCK = "ocrbatch-spool-", "lock"
# A folder that young may not have its lock yet.
_YOUNG_S = 60.0


class SpoolFolder:
    """A new folder in a given one (None: the temporary one), which is made as needed. Raises: OSError.

    Its lock is held until the process ends, however that happens; a folder whose lock is free has no owner.
    """

    def __init__(self, base: str | None) -> None:
        if base is not None:
            os.makedirs(base, mode=0o700, exist_ok=True)
        base = tempfile.gettempdir() if base is None else base
        remove_stale(base)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))  # 0700
        self._lock = os.open(self.path / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Removes the folder with what is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_stale(base: str) -> None:
    """Removes the folders of this user's processes that are gone."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(base)):
            if entry.name.startswith(_PREFIX):
                with contextlib.suppress(OSError):
                    _remove_if_stale(Path(entry.path))


def _remove_if_stale(folder: Path) -> None:
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        return
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        if time.time() - found.st_mtime > _YOUNG_S:
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
