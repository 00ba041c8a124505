"""Runs the text model over whole prompts with few kernels, so that a prefill spends its time on arithmetic.

About 17 launches a layer instead of 85, experts without a copy of their tokens, and after the last layer's keys and
values only each prompt's last token, which is all that is needed. The arithmetic is the same, rounded to the model's
number format less often.

Shapes: N prompts of L tokens, T = N * L, D width, E experts, K of them a token, P = T * K pairs of both.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from ocr.decoding.gpu.forward import layers
from ocr.decoding.gpu.forward.block_pool import BlockPool
from ocr.decoding.gpu.forward.layers import ExpertsConfig

try:
    from ocr.decoding.gpu.kernels import prefill_kernels as prompt_kernels
except ImportError:  # no Triton for this platform
    prompt_kernels = None  # type: ignore[assignment]

# How prompts go through the model. transformers: its own layers. tiles: experts by our kernels, which read tokens in
# place.
Prompts = Literal["transformers", "tiles"]
_CHUNK = 64  # tokens that one program of the router takes
_TRIAL_PAIRS = (24, 96, 192)  # pairs of an expert, one number for each of tiles_config()'s sizes
_LARGE_TILES_BYTES = 200 << 10  # of shared memory: four stages of 48 KB and what Triton needs besides


@dataclass(frozen=True, slots=True, kw_only=True)
class TilesConfig:
    """Launch settings of the experts' two products."""

    gate_up: ExpertsConfig
    down: ExpertsConfig


class Routed(NamedTuple):
    """The experts of each token.

    Shares: fp32 [T, K]. order: int32 [P], pairs in the order of experts. places: int32 [T, K], each pair's index in
    order. starts: int32 [E + 1], the index at which each expert's pairs begin.
    """

    shares: Tensor
    order: Tensor
    places: Tensor
    starts: Tensor


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
    return [_CHUNK]


def _takes_layer(layer: Any) -> bool:
    attention, feed_forward = layer.self_attn, layer.mlp
    plain = all(
        part.bias is None for part in (attention.q_proj, attention.k_proj, attention.v_proj, attention.o_proj)
    )
    shared = getattr(feed_forward, "shared_experts", feed_forward)
    if not (plain and isinstance(shared.act_fn, nn.SiLU)):
        return False
    if shared is feed_forward:
        return True
    gate, experts = feed_forward.gate, feed_forward.experts
    return bool(
        gate.topk_method == "greedy"
        and isinstance(experts.act_fn, nn.SiLU)
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
    prompt_kernels.rotate_write[(N * room,)](
        query, key, value, cos.contiguous(), sin.contiguous(), turned_query, turned_key,
        pool.keys[module.layer_idx], pool.values[module.layer_idx], blocks_NB, L, room,
        H=heads, GROUP=groups, D=d, BLOCK=size,
        WIDTH_Q=_power_of_two(heads * groups * d), WIDTH=_power_of_two(heads * d), num_warps=4,
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
    prompt_kernels.sum_norm[(T,)](
        residual_TD, other_TD, rows, places, shares, norm.weight, out, normed, norm.variance_epsilon,
        residual_TD.stride(0), D=D, WIDTH=_power_of_two(D), K=K, num_warps=4,
    )  # fmt: skip
    return out, normed


def route(module: Any, normed_TD: Tensor) -> Routed:
    """Routes tokens to experts and sorts the pairs by expert. module: a router whose method is greedy."""
    (T, D), E, K = normed_TD.shape, module.num_experts, module.top_k
    device, padded, chunks = normed_TD.device, max(16, _power_of_two(E)), -(-T // _CHUNK)
    # One by one: kernels are compiled for tensors whose addresses are multiples of 16.
    chosen, order, places = (torch.empty(T, K, dtype=torch.int32, device=device) for _ in range(3))
    shares = torch.empty(T, K, device=device)
    counts = torch.empty(chunks, padded, dtype=torch.int32, device=device)
    starts = torch.empty(E + 1, dtype=torch.int32, device=device)
    prompt_kernels.route_many[(chunks,)](
        normed_TD, module.weight, chosen, shares, counts, T, float(module.routed_scaling_factor),
        D=D, E=E, K=K, PADDED=padded, BLOCK=layers.divisor(D, 128), CHUNK=_CHUNK, num_warps=4,
    )  # fmt: skip
    prompt_kernels.place_pairs[(chunks,)](
        chosen, counts, order, places, starts, T, chunks,
        E=E, K=K, PADDED=padded, CHUNK=_CHUNK, ROWS=32, num_warps=4,
    )  # fmt: skip
    return Routed(shares, order.view(-1), places, starts)


def experts_tiles(
    module: Any, normed_TD: Tensor, routed: Routed, config: TilesConfig | None = None
) -> Tensor:
    """Returns each pair's expert applied to its token, [P, D] in the order of experts, by our kernels."""
    mean = len(routed.order) / module.num_experts
    config = config or tiles_config(mean, normed_TD.dtype, _shared_bytes(normed_TD.device))
    return down(module, gate_up(module, normed_TD, routed, config.gate_up), routed, config.down)


def gate_up(module: Any, normed_TD: Tensor, routed: Routed, config: ExpertsConfig) -> Tensor:
    """Returns silu(gate) * up, [P, inner width] in the order of experts."""
    (T, D), P, width = normed_TD.shape, len(routed.order), module.intermediate_dim
    inner = torch.empty(P, width, dtype=normed_TD.dtype, device=normed_TD.device)
    n = layers.divisor(width, config.block_n)
    prompt_kernels.gate_up_tiles[(_num_tiles(module, P, config) * (width // n),)](
        normed_TD, module.gate_up_proj, routed.order, routed.starts, inner,
        K=P // T, D=D, INNER=width, BLOCK_N=n, BLOCK_K=layers.divisor(D, config.block_k), **_launch(module, config),
    )  # fmt: skip
    return inner


def down(module: Any, inner_PI: Tensor, routed: Routed, config: ExpertsConfig) -> Tensor:
    """Returns the experts' down projection, [P, D] in the order of experts."""
    (P, width), D = inner_PI.shape, module.hidden_dim
    out = torch.empty(P, D, dtype=inner_PI.dtype, device=inner_PI.device)
    n = layers.divisor(D, config.block_n)
    prompt_kernels.down_tiles[(_num_tiles(module, P, config) * (D // n),)](
        inner_PI, module.down_proj, routed.starts, out,
        D=D, INNER=width, BLOCK_N=n, BLOCK_K=layers.divisor(width, config.block_k), **_launch(module, config),
    )  # fmt: skip
    return out


def tiles_config(mean_pairs: float, dtype: torch.dtype, shared_bytes: int) -> TilesConfig:
    """Returns the launch settings for an expert's mean number of pairs.

    shared_bytes: shared memory of one of the device's processors; 228 KB on an H200, 100 on others.
    """
    if dtype.itemsize > 2:  # no matrix instruction: small tiles, for exactness and not for speed
        small = ExpertsConfig(block_m=32, block_n=32, block_k=32, num_stages=2)
        return TilesConfig(gate_up=small, down=small)
    if mean_pairs <= 32:
        few = ExpertsConfig(block_m=32, block_n=64, block_k=64, num_stages=4)
        return TilesConfig(gate_up=few, down=few)
    if mean_pairs <= 128:
        return TilesConfig(
            gate_up=ExpertsConfig(block_m=64, block_n=64, block_k=64, num_stages=4),
            down=ExpertsConfig(block_m=64, block_n=128, block_k=64, num_stages=4),
        )
    if shared_bytes < _LARGE_TILES_BYTES:
        return TilesConfig(
            gate_up=ExpertsConfig(block_m=128, block_n=64, block_k=64),
            down=ExpertsConfig(block_m=128, block_n=128, block_k=64),
        )
    return TilesConfig(
        gate_up=ExpertsConfig(block_m=128, block_n=128, block_k=64, num_warps=8, num_stages=4),
        down=ExpertsConfig(block_m=128, block_n=256, block_k=64, num_warps=8, num_stages=4),
    )


@cache
def _shared_bytes(device: torch.device) -> int:
    if device.type != "cuda":
        return 0
    return torch.cuda.get_device_properties(device).shared_memory_per_multiprocessor


def _launch(module: Any, config: ExpertsConfig) -> dict[str, int]:
    return {
        "E": module.num_experts,
        "PADDED": max(16, _power_of_two(module.num_experts)),
        "BLOCK_M": config.block_m,
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
    }


def _num_tiles(module: Any, pairs: int, config: ExpertsConfig) -> int:
    """Returns the most tiles there can be: each expert's last tile may hold a single pair."""
    experts: int = module.num_experts
    return -(-pairs // config.block_m) + min(experts, pairs)


def _power_of_two(count: int) -> int:
    return 1 << (count - 1).bit_length()
