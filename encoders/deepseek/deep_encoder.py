"""DeepEncoder: SAM, CLIP and a projector turn page views into tokens of the language model.

Shapes: B views of S px, h = S/16 patches a side, g = S/64 tokens a side, D language model width.
Source: deepseek-ai/DeepSeek-OCR (modeling_deepseekocr.py). Differs in that global views and tiles of many
pages are encoded in two independent batches.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from encoders.bfloat16 import multiply_in_bfloat16
from encoders.deepseek.clip import ClipConfig, ClipEncoder
from encoders.deepseek.sam import SamConfig, SamEncoder
from encoders.initial import normal
from encoders.types import VisionTokens
from encoders.views import PageViews, UInt8Array


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderConfig:
    """Configures the encoder; defaults are the published model's. embed_dim: D, the language model's width."""

    sam: SamConfig = field(default_factory=SamConfig)
    clip: ClipConfig = field(default_factory=ClipConfig)
    embed_dim: int = 1280

    def __post_init__(self) -> None:
        if self.clip.width != self.sam.downsample_channels[-1]:
            raise ValueError(
                f"CLIP width {self.clip.width} must equal SAM's last downsample channel "
                f"{self.sam.downsample_channels[-1]}: SAM features stand in for CLIP's patch embeddings"
            )


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

    def encode_views(self, pixels: Tensor) -> Tensor:
        """Returns tokens [B, g*g, D] in the encoder's dtype for views of one resolution, uint8 [B, 3, S, S].

        A CPU takes the views one by one: several at once leave its caches, and the allocator asks the system for memory
        each time.
        """
        if pixels.device.type == "cpu" and len(pixels) > 1 and not torch.is_grad_enabled():
            return torch.cat([self.encode_views(view) for view in torch.split(pixels, 1)])
        return self.tokens_from_patches(self.patches(pixels))

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

    def encode_global(self, pages: Sequence[PageViews], *, max_views: int = 32) -> list[Tensor]:
        """Returns the tokens [1, g*g, D] of each page's global view; sizes may differ and are batched separately."""
        by_size: dict[int, list[int]] = defaultdict(list)
        for index, page in enumerate(pages):
            by_size[page.global_view.shape[-1]].append(index)
        encoded: dict[int, Tensor] = {}
        for indices in by_size.values():
            views = np.stack([pages[index].global_view for index in indices])
            encoded.update(zip(indices, torch.split(self._encode_path(views, max_views), 1), strict=True))
        return [encoded[index] for index in range(len(pages))]

    def encode_local(self, pages: Sequence[PageViews], *, max_views: int = 32) -> list[Tensor]:
        """Returns each page's tokens [N, 100, D], N = 0 for an untiled one; all pages' tiles share their forwards."""
        counts = [page.num_tiles for page in pages]
        if sum(counts) == 0:
            return [self.image_newline.new_empty(0, 0, self.config.embed_dim) for _ in pages]
        views = np.concatenate([page.local_views for page in pages if page.num_tiles])
        return list(torch.split(self._encode_path(views, max_views), counts))

    def assemble_pages(
        self, pages: Sequence[PageViews], global_views: Sequence[Tensor], local_views: Sequence[Tensor]
    ) -> list[VisionTokens]:
        """Returns the pages' tokens in prompt order. global_views: [1, g*g, D] each; local_views: [N, 100, D] each."""
        out = []
        for page, whole, tiles in zip(pages, global_views, local_views, strict=True):
            tokens_TD = self.assemble(whole[0], tiles, page.grid)
            side = int(whole.shape[1] ** 0.5)
            num_local = tokens_TD.shape[0] - side * (side + 1) - 1
            out.append(VisionTokens(tokens_TD=tokens_TD, num_local=num_local, grid=page.grid))
        return out

    def _encode_path(self, views: UInt8Array, max_views: int) -> Tensor:
        pixels = torch.from_numpy(views)
        device = self.image_newline.device
        if device.type == "cuda":
            pixels = pixels.pin_memory()
        return torch.cat(
            [self.encode_views(part.to(device, non_blocking=True)) for part in torch.split(pixels, max_views)]
        )
