"""Paths whose units are square views of a page: their buffers, examples and units."""

from collections.abc import Hashable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from encoders.graphs.path import Tensors, UniformPath, Unit, watch
from encoders.views import UInt8Array

# Example views are windows of one noise image, this far apart: drawing each on its own takes longer than encoding it.
_SHIFT_BYTES = 997


class SquareViewPath(UniformPath):
    """One path of views through an encoder: the axis is a view's side in px, a unit one view, uint8 [1, 3, S, S].

    view_px: the usual size, which budgets are made for.
    """

    def __init__(self, name: str, encoder: nn.Module, view_px: int) -> None:
        self.name = name
        self.least_tokens = self.unit_tokens(view_px)
        self._weights = watch(encoder)

    def buffers(self, axis: Hashable, budget: int, device: torch.device) -> Tensors:
        side, count = side_px(axis), budget // self.unit_tokens(axis)
        return {"pixels": torch.zeros(count, 3, side, side, dtype=torch.uint8, device=device)}

    def examples(self, axis: Hashable, tokens: int) -> list[Unit]:
        side, count = side_px(axis), tokens // self.unit_tokens(axis)
        length = 3 * side * side
        noise = torch.randint(0, 256, (length + count * _SHIFT_BYTES,), dtype=torch.uint8)
        views = [noise[start : start + length] for start in range(0, count * _SHIFT_BYTES, _SHIFT_BYTES)]
        return [self._unit(view.view(1, 3, side, side)) for view in views]

    def watched(self, axis: Hashable) -> Sequence[Tensor]:
        return self._weights()

    def units(self, views: UInt8Array) -> list[Unit]:
        """Returns units for views [N, 3, S, S], in order.

        Units share the array's memory, which must not change until they are encoded.
        """
        return [self._unit(view[None]) for view in torch.from_numpy(np.ascontiguousarray(views))]

    def _unit(self, pixels: Tensor) -> Unit:
        axis = int(pixels.shape[-1])
        return Unit(tokens=self.unit_tokens(axis), axis=axis, inputs={"pixels": pixels})


def side_px(axis: Hashable) -> int:
    """Returns the axis as a view's side in px."""
    assert isinstance(axis, int), "the axis is a view's side in px"
    return axis
