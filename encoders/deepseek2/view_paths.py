"""DeepSeek-OCR-2's two paths for the graph manager, and its encoder for the pipeline: global views and tiles of pages.

Shapes: B views of S px, Q tokens a view, D language model width.
"""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import torch

from encoders.deepseek2.deep_encoder_v2 import DeepEncoderV2
from encoders.deepseek2.query_encoder import num_queries
from encoders.graphs.path import Tensors, UniformPath, Unit, watch
from encoders.types import VisionTokens
from encoders.views import PageViews, UInt8Array
from encoders.vision_encoder import PageOutputs, VisionEncoder

GLOBAL_PX = 1024
TILE_PX = 768
# Example views are windows of one noise image, this far apart: drawing each on its own takes longer than encoding it.
_SHIFT_BYTES = 997


class QueryViewPath(UniformPath):
    """One path of views: the axis is a view's side in px, a unit one view, uint8 [1, 3, S, S].

    Output: tokens [1, Q, D]. view_px: the usual size, which budgets are made for.
    """

    def __init__(self, name: str, encoder: DeepEncoderV2, view_px: int) -> None:
        self.name = name
        self.least_tokens = self.unit_tokens(view_px)
        self._encoder = encoder
        self._weights = watch(encoder)

    def unit_tokens(self, axis: Hashable) -> int:
        assert isinstance(axis, int), "the axis is a view's side in px"
        return num_queries((axis // 64) ** 2)

    def buffers(self, axis: Hashable, budget: int, device: torch.device) -> Tensors:
        assert isinstance(axis, int), "the axis is a view's side in px"
        count = budget // self.unit_tokens(axis)
        return {"pixels": torch.zeros(count, 3, axis, axis, dtype=torch.uint8, device=device)}

    def examples(self, axis: Hashable, tokens: int) -> list[Unit]:
        assert isinstance(axis, int), "the axis is a view's side in px"
        count, length = tokens // self.unit_tokens(axis), 3 * axis * axis
        noise = torch.randint(0, 256, (length + count * _SHIFT_BYTES,), dtype=torch.uint8)
        views = [noise[start : start + length] for start in range(0, count * _SHIFT_BYTES, _SHIFT_BYTES)]
        return [self._unit(view.view(1, 3, axis, axis)) for view in views]

    def forward(self, inputs: Tensors) -> Tensors:
        return {"tokens": self._encoder.encode_views(inputs["pixels"])}

    def watched(self, axis: Hashable) -> Sequence[torch.Tensor]:
        return self._weights()

    def kept(self, axis: Hashable) -> Sequence[torch.Tensor]:
        """Returns the tables for views of this size."""
        assert isinstance(axis, int), "the axis is a view's side in px"
        return self._encoder.prepare(axis)

    def units(self, views: UInt8Array) -> list[Unit]:
        """Returns units for views [N, 3, S, S], in order. They share the array's memory."""
        return [self._unit(view[None]) for view in torch.from_numpy(np.ascontiguousarray(views))]

    def _unit(self, pixels: torch.Tensor) -> Unit:
        axis = int(pixels.shape[-1])
        return Unit(tokens=self.unit_tokens(axis), axis=axis, inputs={"pixels": pixels})


class DeepSeek2VisionEncoder(VisionEncoder):
    """Pages to tokens through the paths "global" and "local"."""

    def __init__(self, encoder: DeepEncoderV2, *, global_px: int = GLOBAL_PX, tile_px: int = TILE_PX) -> None:
        self._encoder = encoder
        self._sizes = {"global": global_px, "local": tile_px}
        self._by_name = {name: QueryViewPath(name, encoder, size) for name, size in self._sizes.items()}
        self.paths = tuple(self._by_name.values())

    @property
    def device(self) -> torch.device:
        return self._encoder.view_seperator.device

    @property
    def usual_axes(self) -> Mapping[str, Sequence[Hashable]]:
        return {name: [size] for name, size in self._sizes.items()}

    @property
    def num_bytes(self) -> int:
        """The size of its weights, which both paths use."""
        return sum(weight.nbytes for weight in self.paths[0].watched(None))

    def units(self, path: str, pages: Sequence[PageViews]) -> list[list[Unit]]:
        chosen = self._by_name[path]
        if path == "global":
            return [chosen.units(page.global_view[None]) for page in pages]
        return [chosen.units(page.local_views) if page.num_tiles else [] for page in pages]

    def assemble(self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]) -> list[VisionTokens]:
        return [
            self._assembled(page, whole["tokens"][0], [tile["tokens"] for tile in tiles])
            for page, (whole,), tiles in zip(pages, outputs["global"], outputs["local"], strict=True)
        ]

    def _assembled(
        self, page: PageViews, global_QD: torch.Tensor, tiles: Sequence[torch.Tensor]
    ) -> VisionTokens:
        local_NQD = torch.cat(list(tiles)) if tiles else global_QD.new_empty(0, *global_QD.shape)
        tokens_TD = self._encoder.assemble(global_QD, local_NQD)
        num_local = local_NQD.shape[0] * local_NQD.shape[1]
        return VisionTokens(tokens_TD=tokens_TD, num_local=num_local, grid=page.grid)
