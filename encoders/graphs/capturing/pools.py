"""The memory pool that CUDA graphs share, replaced where PyTorch would refuse it."""

import contextlib
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch.cuda import _POOL_HANDLE

# The allocator of pinned memory refers to a graph whose capture failed for as long as the process lives.
_FAILED: list[torch.cuda.CUDAGraph] = []


class SharedPool:
    """Provides one pool for all captures, as long as it can be captured into.

    PyTorch refuses a pool whose last graph is gone, unless its side for pinned memory is emptied as well
    (`use_count > 0 INTERNAL ASSERT FAILED`), and one that a failed capture has left open (`already recording to
    mempool_id`). handles: of all pools so far. new: makes a pool.
    Source: aten/src/ATen/core/CachingHostAllocator.h, begin_allocate_to_pool; ATen/cuda/CUDAGraph.cpp, capture_end.
    """

    def __init__(self, new: "Callable[[], _POOL_HANDLE]" = torch.cuda.graph_pool_handle) -> None:
        self.handles: set[_POOL_HANDLE] = set()
        self._new = new
        self._current: _POOL_HANDLE | None = None
        self._num_graphs: Counter[_POOL_HANDLE] = Counter()

    def handle(self) -> "_POOL_HANDLE":
        """Returns the pool for the next capture."""
        if self._current is None:
            self._current = self._new()
            self.handles.add(self._current)
        return self._current

    def captured(self, handle: "_POOL_HANDLE") -> None:
        """Notes that a graph was captured into the pool."""
        self._num_graphs[handle] += 1

    def released(self, handle: "_POOL_HANDLE") -> None:
        """Notes that one of the pool's graphs was reset."""
        self._num_graphs[handle] -= 1
        if not self._num_graphs[handle] and handle == self._current:
            self._current = None

    def failed(self, handle: "_POOL_HANDLE", graph: torch.cuda.CUDAGraph, device_index: int) -> None:
        """Notes that a capture into the pool failed and was ended: later ones use another, graphs captured before stay.

        Tells the device's allocator that it is over, which would otherwise keep memory back that other streams have
        released.
        """
        if handle == self._current:
            self._current = None
        _FAILED.append(graph)
        with contextlib.suppress(RuntimeError):  # the first error explains it
            graph.reset()
        with contextlib.suppress(RuntimeError):  # it may know already
            torch._C._cuda_endAllocateToPool(device_index, handle)
        # Its state would believe for ever that it is being captured: no random number could be drawn any more.
        for generator in torch.cuda.default_generators[device_index : device_index + 1]:
            generator.graphsafe_set_state(generator.clone_state())
