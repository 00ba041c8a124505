"""The second half of DeepSeek-OCR-2's encoder: learnt queries read a view's features through a language model's layers.

A view's patches all see each other; a query sees all patches and the queries before it. What the queries come to are
the view's tokens, in the order in which the encoder reads ("visual causal flow").

Shapes: B views, P patches, Q queries, T = P + Q, D width, H heads, d = D / H.
Source: deepseek-ai/DeepSeek-OCR-2 (deepencoderv2), Wei et al. 2026, with the layers of Qwen2. Differs in that positions
and mask are computed once a view size.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from encoders.deepseek.position_tables import TableCache
from encoders.initial import embedding

# Queries for views of up to 144 patches, 768 px a side, and for larger ones.
NUM_QUERIES = (144, 256)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConfig:
    """Sizes of the layers; defaults are the published model's. num_key_heads: divides num_heads."""

    width: int = 896
    num_layers: int = 24
    num_heads: int = 14
    num_key_heads: int = 2
    mlp_dim: int = 4864
    rope_theta: float = 1e6
    rms_norm_eps: float = 1e-6


@dataclass(frozen=True, slots=True)
class QueryTables:
    """The tables of one number of patches. cos_Td, sin_Td: rotary positions. mask_TT: 0, or -inf where not seen."""

    cos_Td: Tensor
    sin_Td: Tensor
    mask_TT: Tensor


def num_queries(num_patches: int) -> int:
    """Returns the number of tokens of a view."""
    few, many = NUM_QUERIES
    return few if num_patches <= few else many


def prefix_mask(num_patches: int, length: int, device: torch.device) -> Tensor:
    """Returns [T, T] bool: whether the row's token sees the column's."""
    position = torch.arange(length, device=device)
    return (position[None] < num_patches) | (position[None] <= position[:, None])


def rotate(x: Tensor, tables: QueryTables) -> Tensor:
    """Returns [B, H, T, d], each vector turned by its position."""
    first, second = x.chunk(2, dim=-1)
    return x * tables.cos_Td + torch.cat((-second, first), dim=-1) * tables.sin_Td


class RmsNorm(nn.Module):
    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, self.weight.shape, self.weight, self.eps)


class QueryAttention(nn.Module):
    def __init__(self, config: QueryConfig) -> None:
        super().__init__()
        self.num_heads, self.num_key_heads = config.num_heads, config.num_key_heads
        keys = config.width // config.num_heads * config.num_key_heads
        self.q_proj = nn.Linear(config.width, config.width)
        self.k_proj = nn.Linear(config.width, keys)
        self.v_proj = nn.Linear(config.width, keys)
        self.o_proj = nn.Linear(config.width, config.width, bias=False)

    def forward(self, x: Tensor, tables: QueryTables) -> Tensor:
        B, T, D = x.shape
        q = rotate(self._heads(self.q_proj(x), self.num_heads), tables)
        k = rotate(self._heads(self.k_proj(x), self.num_key_heads), tables)
        v = self._heads(self.v_proj(x), self.num_key_heads)
        shared = self.num_heads // self.num_key_heads
        k, v = k.repeat_interleave(shared, dim=1), v.repeat_interleave(shared, dim=1)
        out = functional.scaled_dot_product_attention(q, k, v, attn_mask=tables.mask_TT)
        projected: Tensor = self.o_proj(out.transpose(1, 2).reshape(B, T, D))
        return projected

    @staticmethod
    def _heads(x: Tensor, num_heads: int) -> Tensor:
        """Returns [B, T, H * d] as [B, H, T, d]."""
        return x.view(*x.shape[:2], num_heads, -1).transpose(1, 2)


class GatedMlp(nn.Module):
    def __init__(self, config: QueryConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.width, config.mlp_dim, bias=False)
        self.up_proj = nn.Linear(config.width, config.mlp_dim, bias=False)
        self.down_proj = nn.Linear(config.mlp_dim, config.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class QueryLayer(nn.Module):
    def __init__(self, config: QueryConfig) -> None:
        super().__init__()
        self.input_layernorm = RmsNorm(config.width, config.rms_norm_eps)
        self.self_attn = QueryAttention(config)
        self.post_attention_layernorm = RmsNorm(config.width, config.rms_norm_eps)
        self.mlp = GatedMlp(config)

    def forward(self, x: Tensor, tables: QueryTables) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), tables)
        out: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return out


class QueryLayers(nn.Module):
    def __init__(self, config: QueryConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(QueryLayer(config) for _ in range(config.num_layers))
        self.norm = RmsNorm(config.width, config.rms_norm_eps)

    def forward(self, x: Tensor, tables: QueryTables) -> Tensor:
        for layer in self.layers:
            x = layer(x, tables)
        out: Tensor = self.norm(x)
        return out


class QueryEncoder(nn.Module):
    """The layers and the queries. Parameter names are the published `qwen2_model.*`."""

    def __init__(self, config: QueryConfig) -> None:
        super().__init__()
        self.config = config
        self.model = nn.ModuleDict({"model": QueryLayers(config)})
        few, many = NUM_QUERIES
        self.query_768 = embedding(few, config.width, std=0.02)
        self.query_1024 = embedding(many, config.width, std=0.02)
        self._tables: TableCache[QueryTables] = TableCache()

    def train(self, mode: bool = True) -> "QueryEncoder":
        self._tables.clear()
        return super().train(mode)

    def tables(self, num_patches: int) -> QueryTables:
        """Returns the tables for views of this many patches."""
        like = (
            self.query_1024.weight
        )  # they are made of no weight, but lie on its device and are of its dtype
        return self._tables.get(num_patches, [like], lambda: self._compute_tables(num_patches, like))

    def _compute_tables(self, num_patches: int, like: Tensor) -> QueryTables:
        length, head_dim = num_patches + num_queries(num_patches), self.config.width // self.config.num_heads
        exponents = torch.arange(0, head_dim, 2, device=like.device, dtype=torch.float32) / head_dim
        position = torch.arange(length, device=like.device, dtype=torch.float32)
        angles = (position[:, None] * self.config.rope_theta**-exponents).repeat(1, 2)
        seen = prefix_mask(num_patches, length, like.device)
        mask = torch.zeros(length, length, device=like.device, dtype=like.dtype)
        return QueryTables(
            angles.cos().to(like.dtype), angles.sin().to(like.dtype), mask.masked_fill(~seen, -torch.inf)
        )

    def forward(self, patches: Tensor) -> Tensor:
        """Returns a view's tokens [B, Q, D] for its patches [B, P, D], row by row."""
        B, P, _ = patches.shape
        queries = self.query_768 if num_queries(P) == NUM_QUERIES[0] else self.query_1024
        x = torch.cat([patches, queries.weight.expand(B, -1, -1)], dim=1)
        tokens: Tensor = self.model["model"](x, self.tables(P))[:, P:]
        return tokens
