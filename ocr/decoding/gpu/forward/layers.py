"""Runs the text model's layers with fewer launches, for decode steps: about 20 kernels a layer instead of 75.

The modules stay the model's own; within fused_layers() their forward methods are these. The arithmetic is the same,
rounded to the model's number format less often.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ocr.decoding.gpu.forward.paged_attention import StepCache, attend_fused, power_of_two

try:
    from ocr.decoding.gpu.kernels import layer_kernels
except ImportError:  # no Triton for this platform
    layer_kernels = None  # type: ignore[assignment]

_BLOCK = 1024
# Pairs of token and expert in one step: measured 8% faster than grouped products at 6,144, slower at 12,288.
MAX_PAIRS = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertsConfig:
    """Launch settings of the experts' products.

    block_m, block_n, block_k: blocks of pairs, of outputs and of the summed dimension, powers of two.
    """

    block_m: int
    block_n: int
    block_k: int
    num_warps: int = 4
    num_stages: int = 3


@contextmanager
def fused_layers(language_model: nn.Module) -> Iterator[None]:
    """Makes a text model's layers run fused for as long as the context lasts, where their shapes allow it.

    Only for steps with a StepCache on a device for which ocr.decoding.gpu.forward.paged_attention.kernels_take() holds.
    The modules are the model's own: not for use while another thread runs the same model.
    """
    changed = []
    try:
        for module in language_model.modules():
            if (forward := _fused_forward(module)) is not None:
                module.forward = forward
                changed.append(module)
        yield
    finally:
        for module in changed:
            del module.forward


def num_experts(language_model: nn.Module) -> int:
    """Returns how many experts a token passes through in one layer; 1 where no layer has any."""
    config: Any = getattr(language_model, "config", None)
    sparse = any(type(module).__name__ == "UnlimitedOcrTextExperts" for module in language_model.modules())
    return int(getattr(config, "num_experts_per_tok", 1)) if sparse else 1


def _fused_forward(module: Any) -> Callable[..., Any] | None:
    name = type(module).__name__
    if name == "UnlimitedOcrTextRMSNorm":
        return partial(rms_norm, module)
    if name == "UnlimitedOcrTextAttention" and module.q_proj.bias is None:
        return partial(attention, module)
    if name == "UnlimitedOcrTextMLP" and is_silu(module.act_fn):
        return partial(mlp, module)
    if (
        name == "UnlimitedOcrTextTopkRouter"
        and module.topk_method == "greedy"
        and module.hidden_dim % 16 == 0
    ):
        return partial(router, module)
    if name == "UnlimitedOcrTextExperts" and is_silu(module.act_fn):
        is_whole = module.hidden_dim % 16 == module.intermediate_dim % 16 == 0
        return partial(experts, module) if is_whole else None
    return None


def is_silu(activation: nn.Module) -> bool:
    """Returns whether this is x * sigmoid(x), PyTorch's class or transformers'."""
    return type(activation).__name__ in ("SiLU", "SiLUActivation")


def rms_norm(module: Any, hidden: Tensor) -> Tensor:
    """Returns the module's RMS norm, [..., D] -> [..., D]."""
    width = hidden.shape[-1]
    rows = hidden.reshape(-1, width)
    out = torch.empty_like(rows, memory_format=torch.contiguous_format)
    layer_kernels.rms_norm[(len(rows),)](
        rows, module.weight, out, rows.stride(0), module.variance_epsilon,
        D=width, WIDTH=power_of_two(width), num_warps=4,
    )  # fmt: skip
    return out.view(hidden.shape)


def attention(
    module: Any,
    hidden_states: Tensor,
    position_embeddings: tuple[Tensor, Tensor],
    attention_mask: Tensor | None = None,
    past_key_values: StepCache | None = None,
    **_: object,
) -> tuple[Tensor, None]:
    """Returns the module's attention, [S, 1, D] -> [S, 1, D]; every slot sees its own cached tokens."""
    assert attention_mask is None
    assert past_key_values is not None
    cache, layer, d = past_key_values, module.layer_idx, module.head_dim
    S = len(hidden_states)
    query, key, value = (
        projection(hidden_states).view(S, 1, -1, d)
        for projection in (module.q_proj, module.k_proj, module.v_proj)
    )
    heads, groups = key.shape[2], module.num_key_value_groups
    cos, sin = position_embeddings
    rotated = torch.empty_like(query)
    keys, values = cache.pool.keys[layer], cache.pool.values[layer]
    layer_kernels.rotate_append[(S,)](
        query, key, value, cos, sin, rotated, keys, values, cache.plan_SP, cache.plan_SP.stride(0),
        cos.stride(0),
        H=heads, GROUP=groups, D=d, BLOCK=cache.pool.shape.block_tokens,
        WIDTH_Q=power_of_two(heads * groups * d), WIDTH=power_of_two(heads * d), num_warps=4,
    )  # fmt: skip
    out = attend_fused(cache, rotated.transpose(1, 2), keys, values, module.scaling)
    return module.o_proj(out.view(S, 1, -1)), None


def mlp(module: Any, hidden: Tensor) -> Tensor:
    """Returns the module's gated feed-forward layer, [..., D] -> [..., D]."""
    gate, up = module.gate_proj(hidden), module.up_proj(hidden)
    out = torch.empty_like(gate)
    layer_kernels.silu_product[(-(-gate.numel() // _BLOCK),)](gate, up, out, gate.numel(), BLOCK=_BLOCK)
    result: Tensor = module.down_proj(out)
    return result


def router(module: Any, hidden: Tensor) -> tuple[None, Tensor, Tensor]:
    """Routes tokens: [..., D] -> None for the logits, shares fp32 [T, K] and experts int64 [T, K]."""
    rows = hidden.reshape(-1, module.hidden_dim)
    shares = torch.empty(len(rows), module.top_k, device=rows.device)
    chosen = torch.empty(len(rows), module.top_k, dtype=torch.long, device=rows.device)
    layer_kernels.route[(len(rows),)](
        rows, module.weight, chosen, shares, rows.stride(0), float(module.routed_scaling_factor),
        D=module.hidden_dim, E=module.num_experts, K=module.top_k,
        PADDED=max(16, power_of_two(module.num_experts)), BLOCK=divisor(module.hidden_dim, 128), num_warps=4,
    )  # fmt: skip
    return None, shares, chosen


def experts(
    module: Any,
    hidden_TD: Tensor,
    chosen_TK: Tensor,
    shares_TK: Tensor,
    config: ExpertsConfig | None = None,
) -> Tensor:
    """Returns the sum of each token's experts weighted by its shares, [T, D] -> [T, D]."""
    (T, D), K = hidden_TD.shape, chosen_TK.shape[1]
    E, width, pairs = module.num_experts, module.intermediate_dim, T * K
    assert pairs <= MAX_PAIRS
    config = config or experts_config(T, pairs / E)
    launch = {"BLOCK_M": config.block_m, "num_warps": config.num_warps, "num_stages": config.num_stages}
    device, dtype = hidden_TD.device, hidden_TD.dtype
    lists = torch.empty(E, pairs, dtype=torch.int32, device=device)
    counts = torch.empty(E, dtype=torch.int32, device=device)
    layer_kernels.assign[(E,)](chosen_TK, lists, counts, pairs, PADDED=power_of_two(pairs), num_warps=4)
    inner = torch.empty(pairs, width, dtype=dtype, device=device)
    n, k = divisor(width, config.block_n), divisor(D, config.block_k)
    layer_kernels.gate_up[(E, width // n)](
        hidden_TD, module.gate_up_proj, lists, counts, inner, pairs, hidden_TD.stride(0),
        K=K, D=D, INNER=width, BLOCK_N=n, BLOCK_K=k, **launch,
    )  # fmt: skip
    outputs = torch.empty(pairs, D, device=device)
    n, k = divisor(D, config.block_n), divisor(width, config.block_k)
    layer_kernels.down[(E, D // n)](
        inner, module.down_proj, lists, counts, shares_TK, outputs, pairs,
        D=D, INNER=width, BLOCK_N=n, BLOCK_K=k, **launch,
    )  # fmt: skip
    out = torch.empty(T, D, dtype=dtype, device=device)
    layer_kernels.combine[(T,)](outputs, out, D=D, K=K, WIDTH=power_of_two(D), num_warps=4)
    return out


def experts_config(tokens: int, mean_pairs: float) -> ExpertsConfig:
    """Returns the launch settings for this many tokens. mean_pairs: pairs an expert has on average.

    A block has room for half as many more, so that an expert's weights are nearly always read once.
    """
    block_m = min(64, max(16, power_of_two(math.ceil(1.5 * mean_pairs))))
    if tokens <= 8:  # few experts are active, so each is divided among more programs
        return ExpertsConfig(block_m=block_m, block_n=32, block_k=128)
    return ExpertsConfig(block_m=block_m, block_n=64, block_k=64)


def divisor(count: int, most: int) -> int:
    """Returns the largest power of two up to `most` that divides count."""
    return min(most, count & -count)
