"""What vision encoders have in common that take images as patches laid end to end: pixels, positions, weights.

transformers' modules hold the weights; what they compute with values that the host must see is computed here.

Shapes: P patches, N tokens; W hidden, H heads of D; R runs of patch_px pixels.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from encoders.graphs.path import Tensors
from encoders.native.grid_plans import PatchGeometry
from encoders.native.vision_grid import VisionGrid

_CHANNELS = 3


class PatchVision(ABC):
    """A vision encoder over modules of transformers'.

    module: holds its weights, and no others. projection: the convolution of the patches. mean, std: of each channel, as
    in preprocessor_config.json, for pixels from 0 to 1. width: of a token.
    """

    def __init__(
        self,
        module: Any,
        projection: Any,
        geometry: PatchGeometry,
        *,
        mean: Sequence[float],
        std: Sequence[float],
        width: int,
    ) -> None:
        self.module = module
        self.geometry = geometry
        self.width = width
        self._projection = projection
        self._mean, self._std = tuple(mean), tuple(std)

    @property
    def device(self) -> torch.device:
        device: torch.device = self._projection.weight.device
        return device

    @property
    def dtype(self) -> torch.dtype:
        dtype: torch.dtype = self._projection.weight.dtype
        return dtype

    @abstractmethod
    def encode(self, inputs: Tensors) -> Tensor:
        """Returns the tokens, [N, width].

        inputs: as a GridPlan states them, with the pixels (runs) and where sequences begin (cu_seqlens, cu_windows);
        some at the end may be padding, whose tokens mean nothing.
        """

    def finished(self, tokens_ND: Tensor, grid: VisionGrid) -> Tensor:
        """Returns an image's tokens as the language model takes them, computed outside of the graph."""
        return tokens_ND

    def embedded(self, inputs: Tensors, table: Tensor | None = None) -> Tensor:
        """Returns the embedded patches, [P, W], with positions of the learned table where the model has one."""
        pixels = self._pixels(inputs["runs"], inputs["sources"])
        weight = self._projection.weight
        hidden = functional.linear(pixels, weight.view(len(weight), -1), self._projection.bias)
        if table is None:
            return hidden
        taps, weights = inputs["taps"], inputs["tap_weights"]
        # One tap after the other: all four at once would take 18 kB a patch.
        mixed = table.index_select(0, taps[:, 0]) * weights[:, 0, None]
        for tap in range(1, taps.shape[1]):
            mixed = mixed + table.index_select(0, taps[:, tap]) * weights[:, tap, None]
        positioned: Tensor = hidden + mixed.to(hidden.dtype)
        return positioned

    def _pixels(self, runs: Tensor, sources: Tensor) -> Tensor:
        """Returns the normalised patches [P, 3 * frames * patch_px ** 2], in the weights' dtype.

        An image is sent once and stands for all frames of its patches. runs: uint8 [R, patch_px].
        """
        side, frames = self.geometry.patch_px, self.geometry.temporal
        rows = torch.arange(side, device=runs.device, dtype=sources.dtype) * sources[:, :1]
        channels = torch.arange(_CHANNELS, device=runs.device, dtype=sources.dtype) * sources[:, 1:2]
        within = channels[:, :, None, None] + rows[:, None, None]
        index = within + sources[:, None, 2:, None]  # [P, 3, frames or 1, side]
        pixels = runs.index_select(0, index.flatten()).view(*index.shape, side)
        normal = normalised(pixels, self._mean, self._std).to(self.dtype)
        return normal.expand(-1, -1, frames, -1, -1).reshape(len(sources), -1)


def normalised(pixels: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """Returns uint8 pixels [P, 3, ...] as float32, bit for bit as transformers' processor without torchvision does."""
    normal = pixels.float().div_(255)
    for channel, (its_mean, its_std) in enumerate(zip(mean, std, strict=True)):
        normal[:, channel].sub_(its_mean).div_(its_std)
    return normal


def turns_of(positions: Tensor, rows: Tensor, columns: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Returns the cosines and sines of rotary positions, float32 [P, D]: rows, columns, and both again.

    positions: int32 [P, 2]. rows, columns: frequencies [D / 4]; by default columns have those of rows.
    """
    places = positions.float()
    columns = rows if columns is None else columns
    angles = torch.cat([places[:, :1] * rows.float(), places[:, 1:] * columns.float()], dim=-1)
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()
