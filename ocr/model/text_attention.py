"""Attention of the language model: rotary positions, projections, and a choice of implementations between them.

Source: RoFormer (Su et al. 2021); module and parameter names are those of transformers' `unlimited_ocr`.
Shapes: B rows, T tokens, D width, N query heads, H heads of keys, L tokens attended to, d width of a head.
"""

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from ocr.model.text_config import TextConfig


class KeyValueCache(Protocol):
    """Takes a forward pass's new keys and values."""

    def update(self, keys: Tensor, values: Tensor, layer_idx: int, /) -> tuple[Tensor, Tensor]:
        """Stores keys and values, [B, H, T, d] each; returns those that attention gets in their place."""

    def get_seq_length(self) -> int:
        """Returns the tokens kept so far. Called only where the caller gives no positions or no mask."""


def sdpa_attention(
    module: Any,
    query_BNTd: Tensor,
    keys_BHLd: Tensor,
    values_BHLd: Tensor,
    mask: Tensor | None,
    *,
    scaling: float | None = None,
    **_: object,
) -> tuple[Tensor, None]:
    """Returns attention [B, T, N, d] by PyTorch's own kernels; causal without a mask.

    mask: True or 0 where a token attends.
    """
    groups = query_BNTd.shape[1] // keys_BHLd.shape[1]
    if groups > 1 and mask is not None:  # shared heads with a mask would rule out the fast kernels
        keys_BHLd, values_BHLd = (part.repeat_interleave(groups, 1) for part in (keys_BHLd, values_BHLd))
    out_BNTd = scaled_dot_product_attention(
        query_BNTd,
        keys_BHLd,
        values_BHLd,
        attn_mask=mask,
        scale=scaling,
        is_causal=mask is None and query_BNTd.shape[2] > 1,
        enable_gqa=groups > 1 and mask is None,
    )
    return out_BNTd.transpose(1, 2).contiguous(), None


Attend = Callable[..., tuple[Tensor, Tensor | None]]
# Other modules add their own, as with transformers' AttentionInterface.
ATTENTION: dict[str, Attend] = {"sdpa": sdpa_attention}


class UnlimitedOcrTextRotaryEmbedding(nn.Module):
    """Rotary embedding: positions [B, T] -> cosines and sines [B, T, d] in the number format of hidden."""

    inv_freq: Tensor

    def __init__(self, config: TextConfig) -> None:
        super().__init__()
        # Not on meta, where PyTorch would import its compiler for this (encoders.initial).
        exponents = torch.arange(0, config.head_dim, 2, dtype=torch.float, device="cpu") / config.head_dim
        self.register_buffer("inv_freq", 1.0 / config.rope_theta**exponents, persistent=False)

    @torch.no_grad()
    def forward(self, hidden: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Returns cosines and sines for these positions; hidden gives device and number format."""
        angles = position_ids[..., None].float() * self.inv_freq.to(hidden.device, torch.float)
        both = torch.cat((angles, angles), dim=-1)
        return both.cos().to(hidden.dtype), both.sin().to(hidden.dtype)


def rotate(states_BHTd: Tensor, cos_BTd: Tensor, sin_BTd: Tensor) -> Tensor:
    """Returns keys or queries rotated by their positions; the halves of a head are the two coordinates."""
    first, second = states_BHTd.chunk(2, dim=-1)
    crossed = torch.cat((-second, first), dim=-1)
    return states_BHTd * cos_BTd[:, None] + crossed * sin_BTd[:, None]


class UnlimitedOcrTextAttention(nn.Module):
    """Self-attention, [B, T, D] -> [B, T, D].

    Further keywords are passed to the attention named in the configuration.
    """

    def __init__(self, config: TextConfig, layer_idx: int) -> None:
        super().__init__()
        self.config, self.layer_idx, self.head_dim = config, layer_idx, config.head_dim
        self.num_key_value_groups = config.num_attention_heads // config.num_key_value_heads
        self.scaling = self.head_dim**-0.5
        width, kept = config.hidden_size, config.num_key_value_heads * self.head_dim
        self.q_proj = nn.Linear(width, config.num_attention_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(width, kept, bias=False)
        self.v_proj = nn.Linear(width, kept, bias=False)
        self.o_proj = nn.Linear(config.num_attention_heads * self.head_dim, width, bias=False)

    def forward(
        self,
        hidden_states: Tensor,
        position_embeddings: tuple[Tensor, Tensor],
        attention_mask: Tensor | None = None,
        past_key_values: KeyValueCache | None = None,
        **rest: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """Returns the output [B, T, D], and the attention weights where the implementation gives any."""
        of_tokens = hidden_states.shape[:-1]
        query, keys, values = (
            made_by(hidden_states).view(*of_tokens, -1, self.head_dim).transpose(1, 2)
            for made_by in (self.q_proj, self.k_proj, self.v_proj)
        )
        query, keys = (rotate(states, *position_embeddings) for states in (query, keys))
        if past_key_values is not None:
            keys, values = past_key_values.update(keys, values, self.layer_idx)
        attend = ATTENTION[self.config._attn_implementation]
        out, weights = attend(self, query, keys, values, attention_mask, scaling=self.scaling, **rest)
        return self.o_proj(out.reshape(*of_tokens, -1).contiguous()), weights
