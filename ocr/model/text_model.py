"""The language model: DeepSeek-V2's decoder without MLA, dense layers first and then experts, rotary positions.

It equals transformers' `UnlimitedOcrTextModel` with full attention in every layer, bit for bit, under the same names of
modules and parameters. It is here because importing that one takes longer than everything else at start-up.
Source: deepseek-ai/DeepSeek-OCR; DeepSeek-V2 (2024); RMSNorm (Zhang and Sennrich 2019).
Shapes: B rows, T tokens, D width.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from encoders.initial import embedding, normal
from ocr.model.experts import UnlimitedOcrTextExperts, UnlimitedOcrTextTopkRouter
from ocr.model.text_attention import KeyValueCache, UnlimitedOcrTextAttention, UnlimitedOcrTextRotaryEmbedding
from ocr.model.text_config import TextConfig

_INITIAL_STD = 0.02


@dataclass(frozen=True, slots=True)
class TextOutput:
    """The model's output. last_hidden_state: [B, T, D], after the last norm."""

    last_hidden_state: Tensor


class UnlimitedOcrTextRMSNorm(nn.Module):
    """RMS norm in float32, [..., D] -> [..., D]."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.variance_epsilon = eps

    def forward(self, hidden: Tensor) -> Tensor:
        """Returns the normed states, in hidden's number format."""
        wide = hidden.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        out: Tensor = self.weight * wide.to(hidden.dtype)
        return out


class UnlimitedOcrTextMLP(nn.Module):
    """The gated feed-forward part: [..., D] -> [..., D]."""

    def __init__(self, config: TextConfig, intermediate_size: int | None = None) -> None:
        super().__init__()
        inner = intermediate_size or config.intermediate_size
        self.gate_proj = nn.Linear(config.hidden_size, inner, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, inner, bias=False)
        self.down_proj = nn.Linear(inner, config.hidden_size, bias=False)
        self.act_fn = nn.SiLU()

    def forward(self, hidden: Tensor) -> Tensor:
        """Returns down(silu(gate) * up)."""
        out: Tensor = self.down_proj(self.act_fn(self.gate_proj(hidden)) * self.up_proj(hidden))
        return out


class UnlimitedOcrTextMoe(nn.Module):
    """Routed experts plus shared ones that see every token, [..., D] -> [..., D]."""

    def __init__(self, config: TextConfig) -> None:
        super().__init__()
        self.experts, self.gate = UnlimitedOcrTextExperts(config), UnlimitedOcrTextTopkRouter(config)
        self.shared_experts = UnlimitedOcrTextMLP(
            config, config.moe_intermediate_size * config.n_shared_experts
        )

    def forward(self, hidden: Tensor) -> Tensor:
        """Returns the sum of the routed and the shared experts."""
        _, shares_TK, chosen_TK = self.gate(hidden)
        routed_TD: Tensor = self.experts(hidden.reshape(-1, hidden.shape[-1]), chosen_TK, shares_TK)
        shared: Tensor = self.shared_experts(hidden)
        return routed_TD.view(hidden.shape) + shared


class UnlimitedOcrTextDecoderLayer(nn.Module):
    """A decoder layer, [B, T, D] -> [B, T, D]: attention and feed-forward part, each after a norm, as residuals."""

    def __init__(self, config: TextConfig, layer_idx: int) -> None:
        super().__init__()
        dense = layer_idx < config.first_k_dense_replace
        self.self_attn = UnlimitedOcrTextAttention(config, layer_idx)
        self.mlp = UnlimitedOcrTextMLP(config) if dense else UnlimitedOcrTextMoe(config)
        self.input_layernorm = UnlimitedOcrTextRMSNorm(config.hidden_size, config.rms_norm_eps)
        self.post_attention_layernorm = UnlimitedOcrTextRMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, hidden_states: Tensor, **rest: Any) -> Tensor:
        """Runs the layer. rest: passed to UnlimitedOcrTextAttention.forward."""
        attended, _ = self.self_attn(hidden_states=self.input_layernorm(hidden_states), **rest)
        hidden_states = hidden_states + attended
        out: Tensor = hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))
        return out


class UnlimitedOcrTextModel(nn.Module):
    """The decoder, embeddings [B, T, D] -> hidden states [B, T, D]. Built with random weights, or with none on meta."""

    def __init__(self, config: TextConfig) -> None:
        super().__init__()
        self.config = config
        self.embed_tokens = embedding(config.vocab_size, config.hidden_size, std=_INITIAL_STD)
        self.layers = nn.ModuleList(
            UnlimitedOcrTextDecoderLayer(config, number) for number in range(config.num_hidden_layers)
        )
        self.norm = UnlimitedOcrTextRMSNorm(config.hidden_size, config.rms_norm_eps)
        self.rotary_emb = UnlimitedOcrTextRotaryEmbedding(config)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                normal(parameter, std=_INITIAL_STD)

    def get_input_embeddings(self) -> nn.Embedding:
        """Returns the token embedding."""
        return self.embed_tokens

    def forward(
        self,
        inputs_embeds: Tensor,
        position_ids: Tensor | None = None,
        attention_mask: Mapping[str, Tensor | None] | None = None,
        past_key_values: KeyValueCache | None = None,
        **rest: Any,
    ) -> TextOutput:
        """Runs all layers.

        attention_mask: {"full_attention": a mask, or None for causal}, in transformers' form; without it each token
        sees those before it and the cached ones. position_ids: [B or 1, T], by default counted on from the cached
        tokens. rest: passed to the attention.
        """
        kept = 0
        if past_key_values is not None and (position_ids is None or attention_mask is None):
            kept = past_key_values.get_seq_length()
        num_tokens, device = inputs_embeds.shape[1], inputs_embeds.device
        if position_ids is None:
            position_ids = torch.arange(kept, kept + num_tokens, device=device)[None]
        mask = (
            _after(kept, num_tokens, device) if attention_mask is None else attention_mask["full_attention"]
        )
        hidden: Tensor = inputs_embeds
        rotary = self.rotary_emb(hidden, position_ids=position_ids)
        for layer in self.layers:
            hidden = layer(
                hidden,
                attention_mask=mask,
                position_embeddings=rotary,
                past_key_values=past_key_values,
                **rest,
            )
        return TextOutput(self.norm(hidden))


def _after(kept: int, num_tokens: int, device: torch.device) -> Tensor | None:
    """Returns the mask [T, kept + T], True where a token attends; None where causal or full attention needs none."""
    if not kept or num_tokens == 1:
        return None
    return torch.ones(num_tokens, kept + num_tokens, dtype=torch.bool, device=device).tril(kept)
