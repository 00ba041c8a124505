"""DeepSeek-OCR-2's two paths for the graph manager, and its encoder for the pipeline: global views and tiles of pages.

Shapes: B views of S px, Q tokens a view, D language model width.
"""

from collections.abc import Hashable, Mapping, Sequence

import torch

from encoders.deepseek2.deep_encoder_v2 import DeepEncoderV2, num_queries
from encoders.graphs.path import Tensors, Unit
from encoders.square_views import SquareViewPath, side_px
from encoders.types import VisionTokens
from encoders.views import PageViews
from encoders.vision_encoder import PageOutputs, VisionEncoder

GLOBAL_PX = 1024
TILE_PX = 768


class QueryViewPath(SquareViewPath):
    """One path of views. Output: tokens [1, Q, D]."""

    def __init__(self, name: str, encoder: DeepEncoderV2, view_px: int) -> None:
        super().__init__(name, encoder, view_px)
        self._encoder = encoder

    def unit_tokens(self, axis: Hashable) -> int:
        return num_queries((side_px(axis) // 64) ** 2)

    def forward(self, inputs: Tensors) -> Tensors:
        return {"tokens": self._encoder.encode_views(inputs["pixels"])}

    def kept(self, axis: Hashable) -> Sequence[torch.Tensor]:
        """Returns the tables for views of this size."""
        return self._encoder.prepare(side_px(axis))


class DeepSeek2VisionEncoder(VisionEncoder):
    """Pages to tokens through the paths "global" and "local"."""

    def __init__(self, encoder: DeepEncoderV2, *, global_px: int = GLOBAL_PX, tile_px: int = TILE_PX) -> None:
        self._encoder = encoder
        self._sizes = {"global": global_px, "local": tile_px}
        self._by_name = {name: QueryViewPath(name, encoder, size) for name, size in self._sizes.items()}
        self.paths = tuple(self._by_name.values())

    @property
    def device(self) -> torch.device:
        device: torch.device = self._encoder.view_separator.device
        return device

    @property
    def usual_axes(self) -> Mapping[str, Sequence[Hashable]]:
        return {name: [size] for name, size in self._sizes.items()}

    @property
    def num_bytes(self) -> int:
        """The size of its weights, which both paths use."""
        return sum(weight.nbytes for weight in self._encoder.parameters())

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
