"""DeepSeek-OCR's two paths for the graph manager: global views and tiles, pooled across pages.

Shapes: B views of S px, g = S/64 tokens a side, D language model width.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass

import torch
from torch import Tensor

from encoders.deepseek.deep_encoder import DeepEncoder
from encoders.graphs.path import Tensors, Unit
from encoders.square_views import SquareViewPath, side_px
from encoders.types import VisionTokens
from encoders.views import PageViews
from encoders.vision_encoder import PageOutputs, VisionEncoder

TILE_PX = 640


class DeepSeekPath(SquareViewPath):
    """One path of views through DeepEncoder: the axis is a view's side in px, a unit one view, uint8 [1, 3, S, S].

    Outputs: tokens [1, g*g, D].
    """

    def __init__(self, name: str, encoder: DeepEncoder, view_px: int) -> None:
        super().__init__(name, encoder, view_px)
        self._encoder = encoder

    def unit_tokens(self, axis: Hashable) -> int:
        return (side_px(axis) // 64) ** 2

    def forward(self, inputs: Tensors) -> Tensors:
        """Returns tokens. Normalises the pixels inside the graph."""
        return {"tokens": self._encoder.encode_views(inputs["pixels"])}

    def kept(self, axis: Hashable) -> Sequence[Tensor]:
        """Returns the position tables for views of this size."""
        side = side_px(axis) // self._encoder.config.sam.patch_px
        tables = self._encoder.sam_model.tables(side), self._encoder.vision_model.embeddings.table(side // 4)
        return list(_tensors(tables))


class DeepSeekEncoder(VisionEncoder):
    """DeepSeek-OCR's encoder with its two paths. global_px: the usual size of a global view; has_tiles: of pages."""

    paths: tuple[DeepSeekPath, DeepSeekPath]

    def __init__(self, encoder: DeepEncoder, global_px: int = 1024, *, has_tiles: bool = True) -> None:
        self._encoder, self._global_px, self._has_tiles = encoder, global_px, has_tiles
        self.paths = deepseek_paths(encoder, global_px)

    @property
    def device(self) -> torch.device:
        return self._encoder.image_newline.device

    @property
    def num_bytes(self) -> int:
        return sum(weight.nbytes for weight in self._encoder.parameters())

    @property
    def usual_axes(self) -> Mapping[str, Sequence[Hashable]]:
        return {"global": [self._global_px]} | ({"local": [TILE_PX]} if self._has_tiles else {})

    def units(self, path: str, pages: Sequence[PageViews]) -> list[list[Unit]]:
        """Returns a page's global view, or its tiles."""
        whole, tiles = self.paths
        if path == whole.name:
            return [whole.units(page.global_view[None]) for page in pages]
        return [tiles.units(page.local_views) for page in pages]

    def assemble(self, pages: Sequence[PageViews], outputs: Mapping[str, PageOutputs]) -> list[VisionTokens]:
        by_path = [[self._joined(page) for page in outputs[path.name]] for path in self.paths]
        return self._encoder.assemble_pages(pages, by_path[0], by_path[1])

    def _joined(self, units: Sequence[Mapping[str, Tensor]]) -> Tensor:
        if not units:
            return self._encoder.image_newline.new_empty(0, 0, self._encoder.config.embed_dim)
        return torch.cat([unit["tokens"] for unit in units])


def deepseek_paths(encoder: DeepEncoder, global_px: int = 1024) -> tuple[DeepSeekPath, DeepSeekPath]:
    """Returns the paths "global" and "local".

    global_px: the usual size of a global view, which budgets are made for.
    """
    return DeepSeekPath("global", encoder, global_px), DeepSeekPath("local", encoder, TILE_PX)


def _tensors(value: object) -> Iterator[Tensor]:
    """Yields all tensors in nested tuples and dataclasses."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for entry in value:
            yield from _tensors(entry)
    elif is_dataclass(value):
        for entry in fields(value):
            yield from _tensors(getattr(value, entry.name))
