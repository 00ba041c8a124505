"""Encoders of square views: a page's global view and its tiles, each on a path of its own, pooled across pages.

Shapes: B views of S px, Q tokens a view, N tiles, D language model width.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from encoders.graphs.path import Tensors, UniformPath, Unit, Watch
from encoders.types import VisionTokens
from encoders.views import PageViews, UInt8Array
from encoders.vision_encoder import PageOutputs, VisionEncoder

# Example views are windows of one noise image, this far apart: drawing each on its own takes longer than encoding it.
_SHIFT_BYTES = 997


class ViewsModel(nn.Module, ABC):
    """The modules of such an encoder. tile_px: the side of a page's tiles."""

    tile_px: int

    @property
    @abstractmethod
    def separator(self) -> Tensor:
        """The token after a page's views, [D]."""

    @abstractmethod
    def num_tokens(self, size_px: int) -> int:
        """Returns Q, for views of size_px."""

    @abstractmethod
    def prepare(self, size_px: int) -> list[Tensor]:
        """Returns the tables for views of size_px, computed now, so that a later forward only reads them."""

    @abstractmethod
    def tokens_of(self, pixels: Tensor) -> Tensor:
        """Returns tokens [B, Q, D] of views of one resolution, uint8 [B, 3, S, S], in one forward."""

    @abstractmethod
    def raster(self, views_NQD: Tensor, grid: tuple[int, int]) -> Tensor:
        """Returns the tokens of views, row-major in a grid of (columns, rows), in prompt order: [N, Q, D] -> [T, D]."""

    def encode_views(self, pixels: Tensor) -> Tensor:
        """Returns tokens [B, Q, D] in the encoder's dtype for views of one resolution, uint8 [B, 3, S, S].

        A CPU takes the views one by one: several at once leave its caches, and the allocator asks the system for memory
        each time.
        """
        if pixels.device.type == "cpu" and len(pixels) > 1 and not torch.is_grad_enabled():
            return torch.cat([self.tokens_of(view) for view in torch.split(pixels, 1)])
        return self.tokens_of(pixels)

    def assemble(self, global_QD: Tensor, local_NQD: Tensor, grid: tuple[int, int]) -> VisionTokens:
        """Returns one page's tokens in prompt order: tiles, global view, separator. N may be 0."""
        local = [self.raster(local_NQD, grid)] if len(local_NQD) else []
        tokens_TD = torch.cat([*local, self.raster(global_QD[None], (1, 1)), self.separator[None]])
        return VisionTokens(tokens_TD=tokens_TD)

    def encode(self, pages: Sequence[PageViews]) -> list[VisionTokens]:
        """Returns the pages' tokens, in order, each page by itself and without graphs."""
        found = []
        for page in pages:
            views = page.global_view[None], page.local_views
            pixels = (torch.from_numpy(view).to(self.separator.device) for view in views if len(view))
            whole, *tiles = (self.encode_views(its) for its in pixels)
            found.append(self.assemble(whole[0], tiles[0] if tiles else whole[:0], page.grid))
        return found


class SquareViewPath(UniformPath):
    """One path of views: the axis is a view's side in px, a unit one view, uint8 [1, 3, S, S].

    Output: tokens [1, Q, D]. view_px: the usual size, which budgets are made for.
    """

    def __init__(self, name: str, model: ViewsModel, view_px: int) -> None:
        self.name = name
        self._model = model
        self._weights = Watch(model)
        self.least_tokens = self.unit_tokens(view_px)

    def unit_tokens(self, axis: Hashable) -> int:
        return self._model.num_tokens(_side_px(axis))

    def buffers(self, axis: Hashable, budget: int, device: torch.device) -> Tensors:
        side, count = _side_px(axis), budget // self.unit_tokens(axis)
        return {"pixels": torch.zeros(count, 3, side, side, dtype=torch.uint8, device=device)}

    def examples(self, axis: Hashable, tokens: int) -> list[Unit]:
        side, count = _side_px(axis), tokens // self.unit_tokens(axis)
        length = 3 * side * side
        noise = torch.randint(0, 256, (length + count * _SHIFT_BYTES,), dtype=torch.uint8)
        views = [noise[start : start + length] for start in range(0, count * _SHIFT_BYTES, _SHIFT_BYTES)]
        return [self._unit(view.view(1, 3, side, side)) for view in views]

    def forward(self, inputs: Tensors) -> Tensors:
        """Returns tokens. Normalises the pixels inside the graph."""
        return {"tokens": self._model.encode_views(inputs["pixels"])}

    def watched(self, axis: Hashable) -> Sequence[Tensor]:
        return self._weights()

    def kept(self, axis: Hashable) -> Sequence[Tensor]:
        return self._model.prepare(_side_px(axis))

    def units(self, views: UInt8Array) -> list[Unit]:
        """Returns units for views [N, 3, S, S], in order.

        Units share the array's memory, which must not change until they are encoded.
        """
        return [self._unit(view[None]) for view in torch.from_numpy(np.ascontiguousarray(views))]

    def _unit(self, pixels: Tensor) -> Unit:
        axis = int(pixels.shape[-1])
        return Unit(tokens=self.unit_tokens(axis), axis=axis, inputs={"pixels": pixels})


class SquareViewsEncoder(VisionEncoder):
    """The paths "global" and "local". global_px: the usual size of a global view; has_tiles: of pages."""

    paths: tuple[SquareViewPath, SquareViewPath]

    def __init__(
        self, model: ViewsModel, global_px: int = 1024, *, tile_px: int | None = None, has_tiles: bool = True
    ) -> None:
        self._model = model
        sizes = {"global": global_px, "local": tile_px or model.tile_px}
        self._usual = {name: [size] for name, size in sizes.items() if has_tiles or name == "global"}
        whole, tiles = (SquareViewPath(name, model, size) for name, size in sizes.items())
        self.paths = whole, tiles

    @property
    def device(self) -> torch.device:
        return self._model.separator.device

    @property
    def usual_axes(self) -> Mapping[str, Sequence[Hashable]]:
        return self._usual

    @property
    def weights(self) -> Sequence[Tensor]:
        return [*self._model.parameters(), *self._model.buffers()]

    def units(self, path: str, pages: Sequence[PageViews]) -> list[list[Unit]]:
        """Returns a page's global view, or its tiles."""
        whole, tiles = self.paths
        if path == whole.name:
            return [whole.units(page.global_view[None]) for page in pages]
        return [tiles.units(page.local_views) for page in pages]

    def assemble(self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]) -> list[VisionTokens]:
        found = []
        for page, (whole,), tiles in zip(pages, outputs["global"], outputs["local"], strict=True):
            local = torch.cat([tile["tokens"] for tile in tiles]) if tiles else whole["tokens"][:0]
            found.append(self._model.assemble(whole["tokens"][0], local, page.grid))
        return found


def _side_px(axis: Hashable) -> int:
    assert isinstance(axis, int), "the axis is a view's side in px"
    return axis
