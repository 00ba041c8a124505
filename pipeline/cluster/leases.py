"""Which worker has which files. A file is a worker's until all of its pages are stored, or the worker is lost."""

import asyncio
from collections import deque
from collections.abc import Sequence

from pipeline.ingest.inputs import InputFiles
from pipeline.ingest.walk import Found


class Leases:
    """Hands files to workers, each to one at a time. For one event loop."""

    def __init__(self, inputs: InputFiles) -> None:
        self._inputs = inputs
        self._back: deque[Found] = deque()
        self._held: dict[int, dict[str, Found]] = {}
        self._left: dict[str, set[int]] = {}
        self._taking = asyncio.Lock()
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether no file waits for a worker, and none will that no worker has."""
        return self._is_over and not self._back

    async def take(self, worker: int, most: int) -> list[Found]:
        """Returns files for a worker, at most so many; none where none wait. Waits for the first only."""
        taken: list[Found] = []
        while len(taken) < most and (found := await self._next()) is not None:
            self._held.setdefault(worker, {})[found.path] = found
            taken.append(found)
        return taken

    def planned(self, worker: int, path: str, pages: Sequence[int]) -> None:
        """Notes which pages of a file a worker reads."""
        self._left[path] = set(pages)
        self._release(worker, path)

    def stored(self, worker: int, path: str, page_index: int) -> None:
        """Notes that a page is stored."""
        if path in self._left:
            self._left[path].discard(page_index)
            self._release(worker, path)

    def lost(self, worker: int) -> int:
        """Takes a lost worker's files back, for others; returns how many."""
        files = self._held.pop(worker, {})
        self._back.extend(files.values())
        return len(files)

    def _release(self, worker: int, path: str) -> None:
        if not self._left[path]:
            del self._left[path]
            self._held.get(worker, {}).pop(path, None)

    async def _next(self) -> Found | None:
        async with self._taking:  # the next file is asked for once the one before is there
            if self._back:
                return self._back.popleft()
            if self._is_over:
                return None
            found = await asyncio.wrap_future(self._inputs.take())
            self._is_over = found is None
            return found
