"""Position tables of one resolution, computed once and kept until the weights they come from change."""

import operator
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


class TableCache(Generic[T]):
    """Values derived from parameters, one per key; each remembers the weights it was made from.

    In-place updates, casts, moves and replaced parameters are noticed. A write through `.data` leaves no trace.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[list[Tensor], list[tuple[int, ...]], T]] = {}

    def get(self, key: int, sources: Sequence[Tensor], compute: Callable[[], T]) -> T:
        """Returns the value for key, computed without gradients."""
        stamps = [_stamp(source) for source in sources]
        entry = self._entries.get(key)
        if entry is not None and entry[1] == stamps and all(map(operator.is_, entry[0], sources)):
            return entry[2]
        with torch.no_grad():
            value = compute()
        self._entries[key] = (list(sources), stamps, value)
        return value


def _stamp(tensor: Tensor) -> tuple[int, ...]:
    version = 0 if tensor.is_inference() else tensor._version
    return (tensor.data_ptr() if tensor.device.type != "meta" else 0, version, tensor.element_size())
