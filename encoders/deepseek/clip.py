"""CLIP vision transformer as DeepSeek-OCR uses it: SAM features stand in for its patch embeddings.

Shapes: B views, g patches a side, D width, T = 1 + g*g tokens (class token first).
Source: deepseek-ai/DeepSeek-OCR (deepencoder.py), after openai/CLIP; quick_gelu, no norm after the layers.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.deepseek.position_tables import TableCache
from encoders.deepseek.sam import resize_grid
from encoders.pointwise import add_norm, quick_gelu


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipConfig:
    """Sizes of the encoder; defaults are the published model's.

    pos_grid: side of the learnt position grid, in patches.
    """

    width: int = 1024
    num_layers: int = 24
    num_heads: int = 16
    mlp_dim: int = 4096
    pos_grid: int = 16
    layer_norm_eps: float = 1e-5


class ClipEmbeddings(nn.Module):
    def __init__(self, config: ClipConfig) -> None:
        super().__init__()
        self.class_embedding = nn.Parameter(torch.zeros(config.width))
        self.position_embedding = nn.Embedding(config.pos_grid**2 + 1, config.width)
        self._tables: TableCache[Tensor] = TableCache()

    def table(self, side: int) -> Tensor:
        """Returns the positions of the class token and of side x side patches: [1, T, D]."""
        weight = self.position_embedding.weight
        return self._tables.get(side, [weight], lambda: _resize_positions(weight, side))

    def forward(self, features: Tensor) -> Tensor:
        """Returns the tokens with their positions: [B, D, g, g] -> [B, T, D]."""
        B, D, side, _ = features.shape
        patches = features.flatten(2).transpose(1, 2)
        tokens = torch.cat([self.class_embedding.expand(B, 1, D), patches], dim=1)
        return tokens + self.table(side)


def _resize_positions(weight: Tensor, side: int) -> Tensor:
    grid_side = int((weight.shape[0] - 1) ** 0.5)
    patches = weight[1:].view(1, grid_side, grid_side, -1)
    return torch.cat([weight[:1], resize_grid(patches, side).reshape(side * side, -1)])[None]


class ClipAttention(nn.Module):
    def __init__(self, config: ClipConfig) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        self.qkv_proj = nn.Linear(config.width, 3 * config.width)
        self.out_proj = nn.Linear(config.width, config.width)

    def forward(self, x: Tensor) -> Tensor:
        B, T, D = x.shape
        q, k, v = self.qkv_proj(x).view(B, T, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        out = functional.scaled_dot_product_attention(q, k, v)
        projected: Tensor = self.out_proj(out.transpose(1, 2).reshape(B, T, D))
        return projected


class ClipMlp(nn.Module):
    def __init__(self, config: ClipConfig) -> None:
        super().__init__()
        self.fc1 = nn.Linear(config.width, config.mlp_dim)
        self.fc2 = nn.Linear(config.mlp_dim, config.width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.fc2(quick_gelu(self.fc1(x)))
        return out


class ClipLayer(nn.Module):
    def __init__(self, config: ClipConfig) -> None:
        super().__init__()
        self.layer_norm1 = nn.LayerNorm(config.width, eps=config.layer_norm_eps)
        self.self_attn = ClipAttention(config)
        self.layer_norm2 = nn.LayerNorm(config.width, eps=config.layer_norm_eps)
        self.mlp = ClipMlp(config)

    def forward(self, x: Tensor, update: Tensor | None) -> tuple[Tensor, Tensor]:
        """Returns x and the update still to be added to it after this layer, from those before it; both [B, T, D]."""
        x, normed = add_norm(x, update, self.layer_norm1)
        x, normed = add_norm(x, self.self_attn(normed), self.layer_norm2)
        return x, self.mlp(normed)


class ClipTransformer(nn.Module):
    def __init__(self, config: ClipConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(ClipLayer(config) for _ in range(config.num_layers))

    def forward(self, x: Tensor) -> Tensor:
        update: Tensor | None = None
        for layer in self.layers:
            x, update = layer(x, update)
        return x if update is None else x + update


class ClipEncoder(nn.Module):
    """The CLIP encoder. Parameter names are the published `vision_model.*`, pre_layrnorm's spelling included."""

    def __init__(self, config: ClipConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = ClipEmbeddings(config)
        self.pre_layrnorm = nn.LayerNorm(config.width, eps=config.layer_norm_eps)
        self.transformer = ClipTransformer(config)

    def forward(self, features: Tensor) -> Tensor:
        """Returns CLIP's tokens: SAM features [B, D, g, g] -> [B, 1 + g*g, D], class token first."""
        tokens: Tensor = self.transformer(self.pre_layrnorm(self.embeddings(features)))
        return tokens
