"""DeepEncoder: SAM, CLIP and a projector turn page views into tokens of the language model.

Shapes: B views of S px, h = S/16 patches a side, g = S/64 tokens a side, D language model width.
Source: deepseek-ai/DeepSeek-OCR (modeling_deepseekocr.py). Differs in that global views and tiles of many
pages are encoded in two independent batches.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, overload

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.bfloat16 import multiply_in_bfloat16
from encoders.deepseek.clip import ClipConfig, ClipEncoder
from encoders.deepseek.sam import SamConfig, SamEncoder
from encoders.initial import normal
from encoders.types import EncodedViews, VisionTokens
from encoders.views import PageViews, UInt8Array

# A cell's character is accepted from this probability on: on 40 validation pages the number of characters counted
# then is 1.00 times the truth (median); taking every cell's likeliest class it is 1.04 times.
_MIN_LOGPROB = math.log(0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class CharacterHeadConfig:
    """Configures the head that reads the character in each cell of a patch (4 x 16 px at 4 cells).

    num_characters: classes, the empty cell among them.
    """

    num_characters: int
    cells_per_patch: int = 4
    hidden: int = 96


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderConfig:
    """Configures the encoder; defaults are the published model's. embed_dim: D, the language model's width."""

    sam: SamConfig = field(default_factory=SamConfig)
    clip: ClipConfig = field(default_factory=ClipConfig)
    embed_dim: int = 1280
    character_head: CharacterHeadConfig | None = None

    def __post_init__(self) -> None:
        if self.clip.width != self.sam.downsample_channels[-1]:
            raise ValueError(
                f"CLIP width {self.clip.width} must equal SAM's last downsample channel "
                f"{self.sam.downsample_channels[-1]}: SAM features stand in for CLIP's patch embeddings"
            )


class CharacterHead(nn.Module):
    """Reads characters: patch features [B, h, w, C] -> logits [B, h, w, cells, num_characters], cells left to right."""

    def __init__(self, width: int, config: CharacterHeadConfig) -> None:
        super().__init__()
        self.cells = config.cells_per_patch
        self.expand = nn.Linear(width, config.cells_per_patch * config.hidden)
        self.classify = nn.Linear(config.hidden, config.num_characters)

    def forward(self, patches: Tensor) -> Tensor:
        hidden = functional.gelu(self.expand(patches))
        logits: Tensor = self.classify(hidden.view(*hidden.shape[:-1], self.cells, -1))
        return logits


class Projector(nn.Module):
    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.layers = nn.Linear(config.clip.width + config.sam.downsample_channels[-1], config.embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        projected: Tensor = self.layers(x)
        return projected


class DeepEncoder(nn.Module):
    """The vision encoder. Parameter names are the published ones less `model.`, view_seperator's spelling included."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.sam_model = SamEncoder(config.sam)
        self.vision_model = ClipEncoder(config.clip)
        self.projector = Projector(config)
        self.image_newline = nn.Parameter(normal(torch.empty(config.embed_dim), std=config.embed_dim**-0.5))
        self.view_seperator = nn.Parameter(normal(torch.empty(config.embed_dim), std=config.embed_dim**-0.5))
        head = config.character_head
        self.character_head = None if head is None else CharacterHead(config.sam.width, head)

    def prepare(self, size_px: int) -> None:
        """Computes the position tables for views of size_px, so that a later forward only reads them."""
        with torch.no_grad():
            side = size_px // self.config.sam.patch_px
            self.sam_model.tables(side)
            self.vision_model.embeddings.table(side // 4)

    def store_channels_last(self) -> None:
        """Stores convolution weights in the layout that tensor cores read.

        Not the position tables, although they have four dimensions too, nor the weight of the patches, which is used as
        a matrix and would be copied in every forward.
        """
        for module in self.modules():
            if isinstance(module, nn.Conv2d) and module is not self.sam_model.patch_embed.proj:
                module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    @overload
    def encode_views(self, pixels: Tensor) -> Tensor: ...
    @overload
    def encode_views(self, pixels: Tensor, return_patches: Literal[True]) -> tuple[Tensor, Tensor]: ...
    def encode_views(self, pixels: Tensor, return_patches: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        """Returns tokens [B, g*g, D] in the encoder's dtype for views of one resolution, uint8 [B, 3, S, S].

        With return_patches also SAM's features before its neck [B, h, w, C], for character_logits. A CPU takes the
        views one by one: several at once leave its caches, and the allocator asks the system for memory each time.
        """
        if pixels.device.type == "cpu" and len(pixels) > 1 and not torch.is_grad_enabled():
            encoded = [self._encode_views(view) for view in torch.split(pixels, 1)]
            tokens, patches = (torch.cat(parts) for parts in zip(*encoded, strict=True))
        else:
            tokens, patches = self._encode_views(pixels)
        return (tokens, patches) if return_patches else tokens

    def _encode_views(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        patches = self.patches(pixels)
        return self.tokens_from_patches(patches), patches

    def multiply_in_bfloat16(self) -> None:
        """Makes SAM's blocks, most of the work, multiply in bfloat16; all else stays (encoders.bfloat16).

        For inference. The small layers after them would save a tenth of the time, and cause six sevenths of the error.
        """
        multiply_in_bfloat16(self.sam_model.blocks)

    def patches(self, pixels: Tensor) -> Tensor:
        """Returns SAM's patch features before its neck: uint8 [B, 3, S, S] -> [B, h, w, C]."""
        return self.sam_model.patches(pixels)

    def tokens_from_patches(self, patches: Tensor) -> Tensor:
        """Returns CLIP's tokens, less the class token, joined with SAM's and projected: [B, h, w, C] -> [B, g*g, D]."""
        sam = self.sam_model.downsample(patches)
        clip = self.vision_model(sam)
        features = torch.cat([clip[:, 1:], sam.flatten(2).transpose(1, 2)], dim=-1)
        tokens: Tensor = self.projector(features)
        return tokens

    def character_logits(self, patches: Tensor) -> Tensor:
        """Returns logits [B, h, w, cells_per_patch, num_characters] for [B, h, w, C].

        Needs a configured character head.
        """
        assert self.character_head is not None, "this model has no character head"
        logits: Tensor = self.character_head(patches)
        return logits

    def read_characters(self, patches: Tensor) -> Tensor:
        """Returns the class of the character in each cell: [..., h, w, C] -> [..., h, w * cells] int16.

        0 where there is none, or none reaches a probability of 0.5. Needs a configured character head.
        """
        logits = self.character_logits(patches).float()
        best, classes = logits.max(-1)
        if logits.device.type == "cpu":  # most cells are empty, and those need no probability
            filled = classes.nonzero(as_tuple=True)
            classes[filled] *= best[filled] - logits[filled].logsumexp(-1) > _MIN_LOGPROB
        else:
            classes *= best - logits.logsumexp(-1) > _MIN_LOGPROB
        return classes.flatten(-2).to(torch.int16)

    def assemble(self, global_TD: Tensor, local_NTD: Tensor, grid: tuple[int, int]) -> Tensor:
        """Returns one page's tokens in prompt order [T, D]: local raster, global raster, separator.

        global_TD: [g*g, D]. local_NTD: [N, 100, D] tiles, row-major in a grid of (columns, rows); N may be 0.
        Each raster row ends in a newline token.
        """
        columns, rows = grid
        parts = [] if local_NTD.shape[0] == 0 else [self._raster(local_NTD, columns, rows)]
        return torch.cat([*parts, self._raster(global_TD[None], 1, 1), self.view_seperator[None]])

    def _raster(self, views_NTD: Tensor, columns: int, rows: int) -> Tensor:
        side, D = int(views_NTD.shape[1] ** 0.5), views_NTD.shape[2]
        raster = views_NTD.view(rows, columns, side, side, D).transpose(1, 2)
        raster = raster.reshape(rows * side, columns * side, D)
        newlines = self.image_newline.expand(rows * side, 1, D)
        return torch.cat([raster, newlines], dim=1).view(-1, D)

    def encode(self, pages: Sequence[PageViews], *, max_views: int = 32) -> list[VisionTokens]:
        """Returns the pages' tokens, in order. max_views: views that share one forward, which bounds memory."""
        global_views = self.encode_global(pages, max_views=max_views)
        local_views = self.encode_local(pages, max_views=max_views)
        return self.assemble_pages(pages, global_views, local_views)

    def encode_global(self, pages: Sequence[PageViews], *, max_views: int = 32) -> list[EncodedViews]:
        """Returns the encoded global view of each page; sizes may differ between pages and are batched separately.

        Characters are read for pages without tiles; tiles show them larger.
        """
        by_size: dict[int, list[int]] = defaultdict(list)
        for index, page in enumerate(pages):
            by_size[page.global_view.shape[-1]].append(index)
        encoded: dict[int, EncodedViews] = {}
        for indices in by_size.values():
            views = np.stack([pages[index].global_view for index in indices])
            sharpest = [pages[index].num_tiles == 0 for index in indices]
            tokens_NTD, cells = self._encode_path(views, sharpest, max_views)
            for row, index in enumerate(indices):
                encoded[index] = EncodedViews(
                    tokens_NTD=tokens_NTD[row : row + 1], cells=_as_path(cells[row : row + 1])
                )
        return [encoded[index] for index in range(len(pages))]

    def encode_local(self, pages: Sequence[PageViews], *, max_views: int = 32) -> list[EncodedViews]:
        """Returns the encoded tiles of each page, N = 0 for an untiled one; all pages' tiles share their forwards."""
        counts = [page.num_tiles for page in pages]
        if sum(counts) == 0:
            nothing = self.image_newline.new_empty(0, 0, self.config.embed_dim)
            return [EncodedViews(tokens_NTD=nothing, cells=None) for _ in pages]
        views = np.concatenate([page.local_views for page in pages if page.num_tiles])
        tokens_NTD, cells = self._encode_path(views, [True] * len(views), max_views)
        ends = np.cumsum(counts).tolist()
        return [
            EncodedViews(tokens_NTD=tokens_NTD[end - count : end], cells=_as_path(cells[end - count : end]))
            for count, end in zip(counts, ends, strict=True)
        ]

    def assemble_pages(
        self,
        pages: Sequence[PageViews],
        global_views: Sequence[EncodedViews],
        local_views: Sequence[EncodedViews],
    ) -> list[VisionTokens]:
        out = []
        for page, whole, tiles in zip(pages, global_views, local_views, strict=True):
            tokens_TD = self.assemble(whole.tokens_NTD[0], tiles.tokens_NTD, page.grid)
            side = int(whole.tokens_NTD.shape[1] ** 0.5)
            num_local = tokens_TD.shape[0] - side * (side + 1) - 1
            sharpest = tiles if page.num_tiles else whole
            cells_HW = None if sharpest.cells is None else _joined(sharpest.cells, page.grid)
            out.append(
                VisionTokens(tokens_TD=tokens_TD, num_local=num_local, grid=page.grid, cells_HW=cells_HW)
            )
        return out

    def _encode_path(
        self, views: UInt8Array, readable: Sequence[bool], max_views: int
    ) -> tuple[Tensor, list[Tensor | None]]:
        """Returns tokens [N, g*g, D], and each view's characters (None where not readable, or without the head)."""
        pixels = torch.from_numpy(views)
        device = self.image_newline.device
        if device.type == "cuda":
            pixels = pixels.pin_memory()
        chunks: list[Tensor] = []
        cells: list[Tensor | None] = []
        for part in torch.split(pixels, max_views):
            tokens, patches = self.encode_views(part.to(device, non_blocking=True), return_patches=True)
            chunks.append(tokens)
            for view in patches:  # one at a time: logits of a view take 11 MB at 447 classes
                reads = self.character_head is not None and readable[len(cells)]
                cells.append(self.read_characters(view) if reads else None)
        return torch.cat(chunks), cells


def _as_path(cells: Sequence[Tensor | None]) -> Tensor | None:
    """Returns [N, h, W] of a page's views on one path, None where they were not read."""
    read = [view for view in cells if view is not None]
    return torch.stack(read) if read else None


def _joined(cells_NhW: Tensor, grid: tuple[int, int]) -> Tensor:
    """Returns the cells of row-major tiles as one raster: [N, h, W] -> [rows * h, columns * W]."""
    columns, rows = grid
    _, height, width = cells_NhW.shape
    raster = cells_NhW.view(rows, columns, height, width).transpose(1, 2)
    return raster.reshape(rows * height, columns * width)
