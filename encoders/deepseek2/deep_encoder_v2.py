"""DeepSeek-OCR-2's encoder: SAM, queries that read its features, and a projector turn page views into tokens.

Shapes: B views of S px, P = (S / 64)^2 patches after SAM, Q tokens (144 up to 768 px, 256 beyond), D language width.
Source: deepseek-ai/DeepSeek-OCR-2 (modeling_deepseekocr2). Differs in that global views and tiles of many pages are
encoded in two independent batches, and the forward looks at no value, so that it can be captured.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from encoders.deepseek.sam import SamConfig, SamEncoder
from encoders.deepseek2.query_encoder import QueryConfig, QueryEncoder
from encoders.initial import normal


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderV2Config:
    """Configures the encoder; defaults are the published model's. embed_dim: D, the language model's width."""

    sam: SamConfig = field(default_factory=lambda: SamConfig(downsample_channels=(512, 896)))
    queries: QueryConfig = field(default_factory=QueryConfig)
    embed_dim: int = 1280

    def __post_init__(self) -> None:
        if self.queries.width != self.sam.downsample_channels[-1]:
            raise ValueError(
                f"the queries' width {self.queries.width} must equal SAM's last downsample channel "
                f"{self.sam.downsample_channels[-1]}: they stand beside its features"
            )


class LinearProjector(nn.Module):
    def __init__(self, config: EncoderV2Config) -> None:
        super().__init__()
        self.layers = nn.Linear(config.queries.width, config.embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        projected: Tensor = self.layers(x)
        return projected


class DeepEncoderV2(nn.Module):
    """The vision encoder. Parameter names are the published ones less `model.`, view_seperator's spelling included."""

    def __init__(self, config: EncoderV2Config) -> None:
        super().__init__()
        self.config = config
        self.sam_model = SamEncoder(config.sam)
        self.qwen2_model = QueryEncoder(config.queries)
        self.projector = LinearProjector(config)
        self.view_seperator = nn.Parameter(normal(torch.empty(config.embed_dim), std=config.embed_dim**-0.5))

    def prepare(self, size_px: int) -> list[Tensor]:
        """Returns the tables for views of size_px, computed now, so that a later forward only reads them."""
        side = size_px // self.config.sam.patch_px
        with torch.no_grad():
            sam, queries = self.sam_model.tables(side), self.qwen2_model.tables((side // 4) ** 2)
        found: list[Tensor | None] = [sam.pos_embed, queries.cos_Td, queries.sin_Td, queries.mask_TT]
        for relative in sam.rel_pos:
            found += [] if relative is None else [relative.rows_qkd, relative.cols_qkd, relative.key_axes]
        return [table for table in found if table is not None]

    def encode_views(self, pixels: Tensor) -> Tensor:
        """Returns tokens [B, Q, D] in the encoder's dtype for views of one resolution, uint8 [B, 3, S, S].

        A CPU takes the views one by one, as DeepEncoder does.
        """
        if pixels.device.type == "cpu" and len(pixels) > 1 and not torch.is_grad_enabled():
            return torch.cat([self._encode_views(view) for view in torch.split(pixels, 1)])
        return self._encode_views(pixels)

    def _encode_views(self, pixels: Tensor) -> Tensor:
        patches = self.sam_model(pixels).flatten(2).transpose(1, 2)
        tokens: Tensor = self.projector(self.qwen2_model(patches))
        return tokens

    def assemble(self, global_QD: Tensor, local_NQD: Tensor) -> Tensor:
        """Returns one page's tokens in prompt order [T, D]: tiles row by row, global view, separator; no newlines."""
        return torch.cat([local_NQD.flatten(0, 1), global_QD, self.view_seperator[None]])
