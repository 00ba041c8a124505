"""Which worker has which pages. A page is a worker's until it is stored, the worker is lost, or another has taken it.

Files are handed out whole, as nobody knows their pages before a worker has looked into them. Once no file waits, a
worker with nothing to do gets half of the pages that the one with most of them has not begun: so a huge document ends
up cut among all workers, and a slow one does not hold up the end.
"""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pipeline.ingest.inputs import InputFiles
from pipeline.ingest.walk import Found

# Pages that nobody has begun: fewer are left to the worker that has them, and more are not handed over at a time.
_LEAST, _MOST = 2, 1024
# A worker that has ended starts again, and loads its model, for no fewer than these.
_WORTH_LOADING = 16
# How long a worker may begin no page before it gets some of another's all the same.
_PATIENCE_S = 30.0
_POLL_S, _COUNT_S = 0.05, 0.5


@dataclass(slots=True, kw_only=True)
class _File:
    """A file whose pages are known and not all stored. left: not stored. apart: read last by the worker that has them.

    owned: worker -> its pages. granted: those of them which it was not told of yet. told: pages whose turn is still to
    come with a worker, its own or not any more.
    """

    found: Found
    left: set[int]
    apart: set[int]
    begun: set[int] = field(default_factory=set)
    owned: dict[int, set[int]] = field(default_factory=dict)
    granted: dict[int, set[int]] = field(default_factory=dict)
    told: dict[int, set[int]] = field(default_factory=dict)

    def spare(self, worker: int) -> list[int]:
        """Returns a worker's pages that another may have, in order."""
        return sorted(self.owned.get(worker, set()) - self.begun - self.apart)

    def drop(self, worker: int) -> None:
        """Takes all of a worker's pages from it."""
        self.begun -= self.owned.pop(worker, set())
        self.granted.pop(worker, None)
        self.told.pop(worker, None)

    def unowned(self) -> set[int]:
        """Returns the pages that no worker has."""
        return self.left.difference(*self.owned.values())


class Leases:
    """Hands pages to workers, each to one at a time. For one event loop."""

    def __init__(self, inputs: InputFiles) -> None:
        self._inputs = inputs
        self._back: deque[Found] = deque()
        self._held: dict[int, dict[str, Found]] = {}
        self._files: dict[str, _File] = {}  # by SHA-256
        self._unplanned: dict[int, set[str]] = {}
        self._leaving: set[int] = set()
        self._num_owned: Counter[int] = Counter()  # worker -> its pages
        self._spare: Counter[int] = Counter()  # pages that a worker has not begun, and another may have
        self._reading: Counter[int] = (
            Counter()
        )  # pages that a worker has begun, but for those that are read last
        self._num_reading = 0  # of all workers
        self._most_spare, self._counted_at = 0, float("-inf")
        self._taking = asyncio.Lock()
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether no file waits for a worker, and none will that no worker has."""
        return self._is_over and not self._back

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to read."""
        return self.is_over and not self._files and not any(self._held.values())

    @property
    def is_worth_a_start(self) -> bool:
        """Whether there is enough for a worker that has yet to load its model."""
        now = time.monotonic()
        if now - self._counted_at > _COUNT_S:
            self._counted_at, self._most_spare = now, max(self._spare.values(), default=0)
        return not self.is_over or self._most_spare >= _WORTH_LOADING

    def num_waiting(self, worker: int) -> int:
        """Returns how many pages a worker has that are not stored."""
        return self._num_owned[worker]

    async def take(self, worker: int, most: int) -> list[Found]:
        """Returns files for a worker, at most so many, or files in which it gets pages of another's; none where
        nothing is left for it. Waits for the first only; and where no file is left until the worker has begun its own
        pages, and others know theirs. One that has nothing more to do waits for what others read: if one of these is
        lost, its pages go to a worker whose model is loaded.
        """
        held = self._held.setdefault(worker, {})
        taken: list[Found] = []
        while len(taken) < most and (found := await self._next()) is not None:
            held[found.path] = found
            taken.append(found)
            self._unplanned.setdefault(worker, set()).add(found.path)
        if taken:
            return taken
        await self._has_begun(worker)
        while worker not in self._leaving and not self._back:
            taken += [file.found for file in self._shared(worker)]
            others_plan = any(paths for other, paths in self._unplanned.items() if other != worker)
            if taken or not (others_plan or self._may_come_back(worker)):
                return taken
            await asyncio.sleep(_POLL_S)
        return [] if worker in self._leaving else await self.take(worker, most)

    def leaves(self, worker: int) -> None:
        """Notes that a worker is gone: what it asked for needs no answer."""
        self._leaving.add(worker)

    def _may_come_back(self, worker: int) -> bool:
        """Returns whether a worker has nothing to do that waits for its files' end, and others read."""
        its = self._reading[worker]
        return self._num_owned[worker] == its and self._num_reading > its

    async def _has_begun(self, worker: int) -> None:
        """Waits until a worker has begun all of its pages, or begins no more: it may have put off the rest."""
        num_spare, since = -1, 0.0
        while worker not in self._leaving and not self._back and (now := self._spare[worker]):
            if now != num_spare:
                num_spare, since = now, time.monotonic()
            if time.monotonic() - since > _PATIENCE_S:
                return
            await asyncio.sleep(_POLL_S)

    def planned(
        self,
        worker: int,
        path: str,
        sha256: str | None,
        to_read: Sequence[int],
        *,
        apart: Iterable[int] = (),
        again: bool = False,
    ) -> list[int]:
        """Notes the pages of a file that are to be read, and returns those which this worker is to read.

        sha256: None of a file that cannot be read. apart: of these pages, what is read after all others. again: the
        file was planned before.
        """
        self._unplanned.get(worker, set()).discard(path)
        file = None if sha256 is None else self._files.get(sha256)
        if file is None and sha256 is not None and to_read and not again:
            found = self._held[worker][path]
            file = self._files[sha256] = _File(found=found, left=set(to_read), apart=set(apart))
        if sha256 is None or file is None or file.found.path != path:  # a copy is not read
            self._held[worker].pop(path, None)
            return []
        unowned = file.unowned()
        file.left -= unowned.difference(to_read)  # given up since a worker was lost with them
        file.apart |= unowned.intersection(apart)  # it was lost with these in its model
        mine = file.granted.pop(worker, set()) | file.unowned()
        self._own(worker, file, mine - file.owned.get(worker, set()))
        told = file.told.setdefault(worker, set())
        new = sorted(mine - told - file.begun)  # a page that came back before its turn is not read twice
        told.update(mine)
        self._settle(sha256, file)
        return new

    def claim(self, worker: int, sha256: str, page_index: int) -> bool:
        """Returns whether a page is still a worker's to read; if so, no other gets it any more."""
        if (file := self._files.get(sha256)) is None:
            return False
        for pages in (file.told, file.granted):
            pages.get(worker, set()).discard(page_index)
        if page_index not in file.owned.get(worker, ()):
            return False
        if page_index not in file.begun and page_index not in file.apart:
            self._spare[worker] -= 1
            self._reads(worker, 1)
        file.begun.add(page_index)
        return True

    def put_off(self, worker: int, sha256: str, page_index: int) -> None:
        """Notes that a worker reads a page that it has begun once it has all its files."""
        file = self._files.get(sha256)
        if file is not None and page_index in file.owned.get(worker, ()) and page_index not in file.apart:
            self._reads(worker, -1)
            file.apart.add(page_index)

    def is_stored(self, sha256: str, page_index: int) -> bool:
        """Returns whether a page that was planned is stored."""
        file = self._files.get(sha256)
        return file is None or page_index not in file.left

    def stored(self, sha256: str, page_index: int) -> None:
        """Notes that a page is stored."""
        if (file := self._files.get(sha256)) is None:
            return
        file.left.discard(page_index)
        for worker, owned in file.owned.items():
            if page_index in owned:
                if page_index in file.begun and page_index not in file.apart:
                    self._reads(worker, -1)
                self._spare[worker] -= page_index not in file.begun and page_index not in file.apart
                self._num_owned[worker] -= 1
                owned.discard(page_index)
        self._settle(sha256, file)

    def lost(self, worker: int) -> int:
        """Takes the files of a worker that is gone back, for others; returns how many."""
        files = self._held.pop(worker, {})
        self._num_reading -= self._reading[worker]
        for counts in (self._spare, self._num_owned, self._reading):
            counts.pop(worker, None)
        self._unplanned.pop(worker, None)
        self._leaving.discard(worker)
        known = {file.found.path: file for file in self._files.values()}
        num_back = 0
        for path, found in files.items():
            if (file := known.get(path)) is not None:
                file.drop(worker)
                if not file.unowned():
                    continue
            self._back.append(found)
            num_back += 1
        return num_back

    def _reads(self, worker: int, more: int) -> None:
        self._reading[worker] += more
        self._num_reading += more

    def _own(self, worker: int, file: _File, pages: set[int]) -> None:
        """Makes pages that nobody has a worker's."""
        self._held.setdefault(worker, {})[file.found.path] = file.found
        file.owned.setdefault(worker, set()).update(pages)
        self._spare[worker] += len(pages - file.begun - file.apart)
        self._num_owned[worker] += len(pages)

    def _settle(self, sha256: str, file: _File) -> None:
        """Lets go of a file all of whose pages are stored, and of workers that have none of it any more."""
        if not file.left:
            self._files.pop(sha256, None)
        for worker in [worker for worker, pages in file.owned.items() if not pages]:
            del file.owned[worker]
            self._held.get(worker, {}).pop(file.found.path, None)

    def _shared(self, worker: int) -> list[_File]:
        """Gives a worker half of what another has more to begin than it has, the last first; returns the files."""
        others = (one for one in self._spare if one != worker)
        owner = max(others, key=self._spare.__getitem__, default=worker)
        more = self._spare[owner] - self._spare[worker]
        if more < _LEAST:
            return []
        wanted, shared = min(more // 2, _MOST), list[_File]()
        for file in reversed(self._files.values()):
            if wanted and (pages := set(file.spare(owner)[-wanted:])):
                wanted -= len(pages)
                for those in (file.owned, file.granted):
                    those.get(owner, set()).difference_update(pages)
                self._spare[owner] -= len(pages)
                self._num_owned[owner] -= len(pages)
                self._own(worker, file, pages)
                file.granted.setdefault(worker, set()).update(pages)
                shared.append(file)
        return shared

    async def _next(self) -> Found | None:
        async with self._taking:  # the next file is asked for once the one before is there
            if self._back:
                return self._back.popleft()
            if self._is_over:
                return None
            found = await asyncio.wrap_future(self._inputs.take())
            self._is_over = found is None
            return found
