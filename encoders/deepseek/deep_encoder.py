"""DeepEncoder: SAM, CLIP and a projector turn page views into tokens of the language model.

Shapes: B views of S px, h = S/16 patches a side, g = S/64 tokens a side, Q = g*g, D language model width.
Source: deepseek-ai/DeepSeek-OCR (modeling_deepseekocr.py). Differs in that global views and tiles of many
pages are encoded in two independent batches.
"""

from collections import OrderedDict
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from encoders.deepseek.clip import ClipConfig, ClipEncoder
from encoders.deepseek.sam import SamConfig, SamEncoder
from encoders.square_views import ViewsModel


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


class DeepEncoder(ViewsModel):
    """The vision encoder. Parameter names are the published ones less `model.`, view_seperator's spelling included."""

    tile_px = 640

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.sam_model = SamEncoder(config.sam)
        self.vision_model = ClipEncoder(config.clip)
        joined = config.clip.width + config.sam.downsample_channels[-1]
        self.projector = nn.Sequential(OrderedDict(layers=nn.Linear(joined, config.embed_dim)))
        self.image_newline = nn.Parameter(torch.zeros(config.embed_dim))
        self.view_seperator = nn.Parameter(torch.zeros(config.embed_dim))

    def num_tokens(self, size_px: int) -> int:
        return (size_px // 64) ** 2

    def prepare(self, size_px: int) -> list[Tensor]:
        side = size_px // self.config.sam.patch_px
        return [*self.sam_model.prepare(side), self.vision_model.embeddings.table(side // 4)]

    def store_channels_last(self) -> None:
        """Stores convolution weights in the layout that tensor cores read.

        Not the position tables, although they have four dimensions too, nor the weight of the patches, which is used as
        a matrix and would be copied in every forward.
        """
        for module in self.modules():
            if isinstance(module, nn.Conv2d) and module is not self.sam_model.patch_embed.proj:
                module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def tokens_of(self, pixels: Tensor) -> Tensor:
        """Returns CLIP's tokens, less the class token, joined with SAM's and projected."""
        sam = self.sam_model(pixels)
        clip = self.vision_model(sam)
        features = torch.cat([clip[:, 1:], sam.flatten(2).transpose(1, 2)], dim=-1)
        tokens: Tensor = self.projector(features)
        return tokens

    @property
    def separator(self) -> Tensor:
        return self.view_seperator

    def raster(self, views_NQD: Tensor, grid: tuple[int, int]) -> Tensor:
        """Returns the tokens of views as rows across the page, each of which ends in a newline token."""
        (columns, rows), side = grid, int(views_NQD.shape[1] ** 0.5)
        raster = views_NQD.view(rows, columns, side, side, -1).transpose(1, 2)
        raster = raster.reshape(rows * side, columns * side, -1)
        newlines = self.image_newline.expand(rows * side, 1, -1)
        return torch.cat([raster, newlines], dim=1).flatten(0, 1)
