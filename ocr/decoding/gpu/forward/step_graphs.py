"""Captures decode steps as CUDA graphs, by rows, each when it is first worth it."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

from encoders.graphs.capturing.gate import capturing
from encoders.graphs.capturing.pools import SharedPool

BUCKETS = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 320, 384, 448, 512)
# A graph for this many times the rows still serves, as its padded rows cost little. Capturing takes as long as some
# hundred steps, and pages that arrive one by one would have every size captured on their way up.
_ROOM = 4
_WANTED = 48  # steps with a graph that is too large, before the right one is captured


class StepGraphs:
    """The captured steps of one engine. slots: the rows of the largest step."""

    def __init__(self, slots: int) -> None:
        self._sizes = [*(size for size in BUCKETS if size < slots), slots]
        self._captured: dict[int, Any] = {}
        self._wanted: Counter[int] = Counter()
        self._pool = SharedPool()

    def bucket(self, rows: int) -> int:
        """Returns the rows that a step of this many rows is captured with."""
        return self._sizes[min(bisect_left(self._sizes, rows), len(self._sizes) - 1)]

    def fitting(self, rows: int) -> int | None:
        """Returns the smallest captured size that takes this many rows without being far too large, or None."""
        size = self.usable(rows)
        return size if size is not None and size <= _ROOM * self.bucket(rows) else None

    def usable(self, rows: int) -> int | None:
        """Returns the smallest captured size that takes this many rows at all, or None."""
        return min((size for size in self._captured if rows <= size), default=None)

    def to_capture(self, rows: int) -> int | None:
        """Returns the size to capture before the next step of this many rows, None where a captured one serves.

        Without any that serves, a size with room for more pages to come; the exact size once it was wanted often.
        """
        exact, fit = self.bucket(rows), self.fitting(rows)
        if fit is None:
            return max(size for size in self._sizes if size <= _ROOM * exact)
        if fit == exact:
            return None
        self._wanted[exact] += 1
        return exact if self._wanted[exact] >= _WANTED else None

    def capture(self, step: Callable[[], None], rows: int, device: torch.device) -> None:
        """Captures a step. step: runs it; called twice before, which compiles kernels and gives libraries workspaces.

        Meanwhile no other thread is at work on the device (encoders.graphs.capturing.gate).
        """
        with capturing():
            for _ in range(2):
                step()
            self._captured[rows] = self._record(step, device)

    def _record(self, step: Callable[[], None], device: torch.device) -> torch.cuda.CUDAGraph:
        stream = torch.cuda.current_stream(device)
        stream.synchronize()
        graph, pool = torch.cuda.CUDAGraph(), self._pool.handle()
        # Work that the encoder's thread launched earlier may still run, hence thread_local.
        within = torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local")
        try:
            with torch.cuda.stream(stream), within:  # if it fails it leaves another stream behind
                step()
        except BaseException:
            self._pool.failed(pool, graph, stream.device_index)
            raise
        self._pool.captured(pool)
        return graph

    def replay(self, rows: int) -> None:
        """Launches a captured step."""
        self._captured[rows].replay()
