"""The memory pool that CUDA graphs share, and a new one where PyTorch would refuse the old."""

import contextlib
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch.cuda import _POOL_HANDLE

# The allocator of pinned memory looks at a graph whose capture failed for as long as the process lives.
_FAILED: list[torch.cuda.CUDAGraph] = []


class SharedPool:
    """Hands out one pool for all captures, as long as it can be captured into.

    PyTorch refuses a pool whose last graph is gone, as long as its side for pinned memory is not emptied as well
    (`use_count > 0 INTERNAL ASSERT FAILED`), and one that a failed capture has left open (`already recording to
    mempool_id`). handles: of all so far. new: makes one.
    Source: aten/src/ATen/core/CachingHostAllocator.h, begin_allocate_to_pool; ATen/cuda/CUDAGraph.cpp, capture_end.
    """

    def __init__(self, new: "Callable[[], _POOL_HANDLE]" = torch.cuda.graph_pool_handle) -> None:
        self.handles: set[_POOL_HANDLE] = set()
        self._new = new
        self._current: _POOL_HANDLE | None = None
        self._num_graphs: Counter[_POOL_HANDLE] = Counter()

    def handle(self) -> "_POOL_HANDLE":
        """For the next capture."""
        if self._current is None:
            self._current = self._new()
            self.handles.add(self._current)
        return self._current

    def captured(self, handle: "_POOL_HANDLE") -> None:
        """A graph was captured into it."""
        self._num_graphs[handle] += 1

    def released(self, handle: "_POOL_HANDLE") -> None:
        """One of its graphs was reset."""
        self._num_graphs[handle] -= 1
        if not self._num_graphs[handle] and handle == self._current:
            self._current = None

    def failed(self, handle: "_POOL_HANDLE", graph: torch.cuda.CUDAGraph, device_index: int) -> None:
        """A capture into it failed and was ended; later ones go elsewhere, what was captured before stays.

        The device's allocator is told that it is over: else it would keep back what other streams are done with.
        """
        if handle == self._current:
            self._current = None
        _FAILED.append(graph)
        with contextlib.suppress(RuntimeError):  # the first error says why
            graph.reset()
        with contextlib.suppress(RuntimeError):  # it may know
            torch._C._cuda_endAllocateToPool(device_index, handle)
