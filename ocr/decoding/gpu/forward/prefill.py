"""Runs the text model over whole prompts with few kernels, so that a prefill spends its time on arithmetic.

About 17 launches a layer instead of 85, experts without a copy of their tokens, and after the last layer's keys and
values only each prompt's last token, which is all that is needed. The arithmetic is the same, rounded to the model's
number format less often.

Shapes: N prompts of L tokens, T = N * L, D width, E experts, K of them a token, P = T * K pairs of both.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from ocr.decoding.gpu.forward import layers
from ocr.decoding.gpu.forward.block_pool import BlockPool
from ocr.decoding.gpu.forward.paged_attention import power_of_two
from ocr.decoding.gpu.forward.prefill_experts import CHUNK, Routed, experts_tiles, route

try:
    from ocr.decoding.gpu.kernels import prefill_kernels
except ImportError:  # no Triton for this platform
    prefill_kernels = None  # type: ignore[assignment]

_TRIAL_PAIRS = (
    24,
    96,
    192,
)  # pairs of an expert, one number for each of prefill_experts.tiles_config()'s sizes


def takes(language_model: Any) -> bool:
    """Returns whether last_states() supports this model, a transformers text model of shapes that the kernels take."""
    if type(language_model).__name__ != "UnlimitedOcrTextModel":
        return False
    return all(_takes_layer(layer) for layer in language_model.layers)


def trial_tokens(language_model: Any) -> list[int]:
    """Returns lengths of prompts that together compile every kernel that a prompt of any length takes."""
    for layer in language_model.layers:
        if hasattr(layer.mlp, "experts"):
            gate = layer.mlp.gate
            return [-(-pairs * gate.num_experts // gate.top_k) for pairs in _TRIAL_PAIRS]
    return [CHUNK]


def _takes_layer(layer: Any) -> bool:
    attention, feed_forward = layer.self_attn, layer.mlp
    plain = all(
        part.bias is None for part in (attention.q_proj, attention.k_proj, attention.v_proj, attention.o_proj)
    )
    shared = getattr(feed_forward, "shared_experts", feed_forward)
    if not (plain and layers.is_silu(shared.act_fn)):
        return False
    if shared is feed_forward:
        return True
    gate, experts = feed_forward.gate, feed_forward.experts
    return bool(
        gate.topk_method == "greedy"
        and layers.is_silu(experts.act_fn)
        and experts.hidden_dim % 16 == 0
        and experts.intermediate_dim % 16 == 0
    )


def last_states(language_model: Any, prompts_NLD: Tensor, pool: BlockPool, blocks_NB: Tensor) -> Tensor:
    """Returns the normed hidden state of each prompt's last token, [N, D]; writes keys and values into these blocks.

    blocks_NB: int64.
    """
    N, L, D = prompts_NLD.shape
    positions = torch.arange(L, device=prompts_NLD.device)[None]
    cos, sin = (part[0] for part in language_model.rotary_emb(prompts_NLD, positions))
    every = list(language_model.layers)
    norms = [layer.input_layernorm for layer in every] + [language_model.norm]
    residual = prompts_NLD.reshape(N * L, D)
    normed = layers.rms_norm(norms[0], residual)
    for index, layer in enumerate(every):
        turned = write(layer.self_attn, normed.view(N, L, D), cos, sin, pool, blocks_NB)
        is_last = index == len(every) - 1
        attended = _attend(layer.self_attn, *turned, last_only=is_last)
        if is_last:
            residual = residual.view(N, L, D)[:, -1]
        residual, normed = sum_norm(
            layer.post_attention_layernorm, residual, layer.self_attn.o_proj(attended)
        )
        residual, normed = _feed_forward(layer.mlp, norms[index + 1], residual, normed)
    return normed


def write(
    module: Any, normed_NLD: Tensor, cos: Tensor, sin: Tensor, pool: BlockPool, blocks_NB: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns queries, keys and values [N, L, heads, d], rotated; writes keys and values into the pool."""
    N, L, _ = normed_NLD.shape
    d, groups, size = module.head_dim, module.num_key_value_groups, pool.shape.block_tokens
    query, key, value = (
        part(normed_NLD).view(N, L, -1, d) for part in (module.q_proj, module.k_proj, module.v_proj)
    )
    turned_query, turned_key = torch.empty_like(query), torch.empty_like(key)
    heads, room = key.shape[2], blocks_NB.shape[1] * size
    prefill_kernels.rotate_write[(N * room,)](
        query, key, value, cos.contiguous(), sin.contiguous(), turned_query, turned_key,
        pool.keys[module.layer_idx], pool.values[module.layer_idx], blocks_NB, L, room,
        H=heads, GROUP=groups, D=d, BLOCK=size,
        WIDTH_Q=power_of_two(heads * groups * d), WIDTH=power_of_two(heads * d), num_warps=4,
    )  # fmt: skip
    return turned_query, turned_key, value


def _attend(module: Any, query: Tensor, key: Tensor, value: Tensor, *, last_only: bool) -> Tensor:
    """Returns attention [T, heads * d], or [N, heads * d] for the last tokens only."""
    if last_only:
        query = query[:, -1:]
    groups = module.num_key_value_groups
    if groups > 1:
        key, value = (states.repeat_interleave(groups, 2) for states in (key, value))
    out = scaled_dot_product_attention(
        query.transpose(1, 2),
        key.transpose(1, 2),
        value.transpose(1, 2),
        is_causal=not last_only,
        scale=module.scaling,
    )
    return out.transpose(1, 2).reshape(query.shape[0] * query.shape[1], -1)


def _feed_forward(module: Any, norm: Any, residual_TD: Tensor, normed_TD: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the next residual, and the next layer's norm of it."""
    if not hasattr(module, "experts"):
        return sum_norm(norm, residual_TD, layers.mlp(module, normed_TD))
    routed = route(module.gate, normed_TD)
    rows_PD = experts_tiles(module.experts, normed_TD, routed)
    return sum_norm(norm, residual_TD, layers.mlp(module.shared_experts, normed_TD), rows_PD, routed)


def sum_norm(
    norm: Any,
    residual_TD: Tensor,
    other_TD: Tensor,
    rows_PD: Tensor | None = None,
    routed: Routed | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns the residual plus other plus each token's experts' rows weighted by shares; and the norm of that sum."""
    T, D = residual_TD.shape
    out, normed = (torch.empty(T, D, dtype=other_TD.dtype, device=other_TD.device) for _ in range(2))
    K = 0 if routed is None else routed.places.shape[1]
    rows, places, shares = (
        (other_TD, other_TD, other_TD)
        if routed is None or rows_PD is None
        else (rows_PD, routed.places, routed.shares)
    )
    prefill_kernels.sum_norm[(T,)](
        residual_TD, other_TD, rows, places, shares, norm.weight, out, normed, norm.variance_epsilon,
        residual_TD.stride(0), D=D, WIDTH=power_of_two(D), K=K, num_warps=4,
    )  # fmt: skip
    return out, normed
