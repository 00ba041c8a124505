"""Keeps objects of stores in local files while they are read: fetched a few at a time, in threads of this process.

Worker processes open those files as they open any other; they need no network and no credentials. The spool's
folder is readable by its owner alone, and removed by the next run if its own was killed.
"""

import contextlib
import fcntl
import logging
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath

from pipeline.documents.settings import IngestSettings
from pipeline.ingest.objects.download import ObjectError, download
from storage.strings.urls import name_of

LOGGER = logging.getLogger("ocrbatch")
# Downloads at a time: enough to hide a store's latency, few enough for a stalled one to cost little.
_FETCHES = 8
_LONGEST_SUFFIX = 10


@dataclass(slots=True)
class _Object:
    """An object in the spool. num_uses: tasks that want or have it. held: pages that are still to be read."""

    ready: Future[str] = field(default_factory=Future)
    num_bytes: int = 0
    num_uses: int = 0
    held: set[int] = field(default_factory=set)
    is_forgotten: bool = False


class Spool:
    """The objects that a process reads. For any thread. Its folder is made with the first object.

    An object stays while a task uses it, or while pages of it are still to be read (`hold`, `release`). Others make way
    when room is needed: they are fetched again if they are wanted again.
    """

    def __init__(self, settings: IngestSettings) -> None:
        self._settings = settings
        self._objects: dict[str, _Object] = {}
        self._changed, self._fetching = threading.Condition(), threading.Semaphore(_FETCHES)
        self._folder: SpoolFolder | None = None
        self._num_bytes = self._numbers = 0
        self._is_closed = False

    def use(self, url: str) -> Future[str]:
        """Returns the future of an object's local file; call `end_use` once for each. The future raises ObjectError."""
        with self._changed:
            known = self._objects.pop(url, None)
            if known is None:
                known = _Object()
                threading.Thread(target=self._fetch, args=(url, known), name="spool", daemon=True).start()
            self._objects[url] = known  # last: the least recently used makes way first
            known.num_uses += 1
            return known.ready

    def end_use(self, url: str) -> None:
        """Notes that a task is over; a failed object is forgotten, so that it is fetched anew when wanted again."""
        with self._changed:
            if (known := self._objects.get(url)) is None:
                return
            known.num_uses -= 1
            self._let_go(url, known)

    def hold(self, url: str, pages: Iterable[int]) -> None:
        """Keeps an object until each of these of its pages (0-based) is released; none lets it go.

        What is no object was never used; here and in `release` nothing is done then.
        """
        with self._changed:
            if (known := self._objects.get(url)) is None:
                return
            known.held.update(pages)
            known.is_forgotten = not known.held
            self._let_go(url, known)

    def release(self, url: str, page_index: int) -> None:
        """Notes that a page is stored, or waits until others are: with its last one the object is removed."""
        with self._changed:
            if (known := self._objects.get(url)) is None or page_index not in known.held:
                return  # a page that waited: others of its object may still be waiting
            known.held.discard(page_index)
            known.is_forgotten |= not known.held
            self._let_go(url, known)

    def close(self) -> None:
        """Removes everything; downloads in progress end as soon as they can, and nothing waits for them."""
        with self._changed:
            self._is_closed = True
            waiting = [known.ready for known in self._objects.values() if not known.ready.done()]
            self._objects.clear()
            self._changed.notify_all()
            folder, self._folder = self._folder, None
        for future in waiting:
            future.cancel()
        if folder is not None:
            folder.remove()

    def _let_go(self, url: str, known: _Object) -> None:
        """Drops an object that nobody uses or waits for any more, and tells those who wait for room."""
        failed = known.ready.done() and (known.ready.cancelled() or known.ready.exception() is not None)
        if not known.num_uses and not known.held and (failed or known.is_forgotten):
            self._drop(url)
        self._changed.notify_all()

    def _drop(self, url: str) -> None:
        known = self._objects.pop(url)
        self._num_bytes -= known.num_bytes
        if known.ready.done() and not known.ready.cancelled() and known.ready.exception() is None:
            Path(known.ready.result()).unlink(missing_ok=True)

    def _fetch(self, url: str, known: _Object) -> None:
        path = ""
        with self._fetching:
            try:
                path = self._new_path(url)
                download(url, path, self._settings, partial(self._reserve, known))
            except BaseException as error:
                if path:
                    Path(path).unlink(missing_ok=True)
                self._settle(known, None, error)
            else:
                self._settle(known, path, None)

    def _settle(self, known: _Object, path: str | None, error: BaseException | None) -> None:
        with self._changed:
            is_wanted = not self._is_closed
            if path is None:
                self._num_bytes -= known.num_bytes
                known.num_bytes = 0
            self._changed.notify_all()
        if not is_wanted or not known.ready.set_running_or_notify_cancel():
            if path is not None:
                Path(path).unlink(missing_ok=True)
            return
        # Outside the lock: callbacks call back.
        if path is None:
            known.ready.set_exception(error)
        else:
            known.ready.set_result(path)

    def _new_path(self, url: str) -> str:
        """Returns a path with the object's ending, which is part of what says whether it is an input."""
        suffix = PurePath(name_of(url)).suffix[:_LONGEST_SUFFIX].lower()
        suffix = suffix if suffix[1:].isalnum() and suffix.isascii() else ""
        with self._changed:
            if self._is_closed:
                raise ObjectError("the run ends")
            try:
                if self._folder is None:
                    self._folder = SpoolFolder(self._settings.spool)
            except OSError as error:
                raise ObjectError(f"the spool cannot be made: {error.strerror}; set ingest.spool") from error
            self._numbers += 1
            return str(self._folder.path / f"{self._numbers:08d}{suffix}")

    def _reserve(self, known: _Object, num_bytes: int) -> None:
        """Waits until an object may take so many bytes in all. Raises: ObjectError where it never may."""
        limit = self._settings.spool_bytes
        if num_bytes > limit:
            raise ObjectError(
                f"is larger than the spool ({num_bytes >> 20} of {limit >> 20} MiB); raise ingest.spool_mb"
            )
        with self._changed:
            more = num_bytes - known.num_bytes
            # What grows beyond what was said may not wait for others that do so too.
            self._changed.wait_for(
                lambda: self._is_closed or known.num_bytes or self._makes_room(limit - more)
            )
            if self._is_closed:
                raise ObjectError("the run ends")
            self._num_bytes += more
            known.num_bytes = num_bytes

    def _makes_room(self, most: int) -> bool:
        """Returns whether the spool holds at most so many bytes, once what nobody needs has made way."""
        for url, known in list(self._objects.items()):
            if self._num_bytes <= most:
                break
            if not known.num_uses and not known.held and known.ready.done():
                self._drop(url)
        return self._num_bytes <= most


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
