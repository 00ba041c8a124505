"""Runs the experts of whole prompts: routes tokens, sorts the pairs by expert, and multiplies in tiles.

Shapes: T tokens, D width, E experts, K of them a token, P = T * K pairs of both.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ocr.decoding.gpu.forward.layers import ExpertsConfig, divisor
from ocr.decoding.gpu.forward.paged_attention import power_of_two

try:
    from ocr.decoding.gpu.kernels import prefill_kernels
except ImportError:  # no Triton for this platform
    prefill_kernels = None  # type: ignore[assignment]

CHUNK = 64  # tokens that one program of the router takes
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


def route(module: Any, normed_TD: Tensor) -> Routed:
    """Routes tokens to experts and sorts the pairs by expert. module: a router whose method is greedy."""
    (T, D), E, K = normed_TD.shape, module.num_experts, module.top_k
    device, padded, chunks = normed_TD.device, max(16, power_of_two(E)), -(-T // CHUNK)
    # One by one: kernels are compiled for tensors whose addresses are multiples of 16.
    chosen, order, places = (torch.empty(T, K, dtype=torch.int32, device=device) for _ in range(3))
    shares = torch.empty(T, K, device=device)
    counts = torch.empty(chunks, padded, dtype=torch.int32, device=device)
    starts = torch.empty(E + 1, dtype=torch.int32, device=device)
    prefill_kernels.route_many[(chunks,)](
        normed_TD, module.weight, chosen, shares, counts, T, float(module.routed_scaling_factor),
        D=D, E=E, K=K, PADDED=padded, BLOCK=divisor(D, 128), CHUNK=CHUNK, num_warps=4,
    )  # fmt: skip
    prefill_kernels.place_pairs[(chunks,)](
        chosen, counts, order, places, starts, T, chunks,
        E=E, K=K, PADDED=padded, CHUNK=CHUNK, ROWS=32, num_warps=4,
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
    n = divisor(width, config.block_n)
    prefill_kernels.gate_up_tiles[(_num_tiles(module, P, config) * (width // n),)](
        normed_TD, module.gate_up_proj, routed.order, routed.starts, inner,
        K=P // T, D=D, INNER=width, BLOCK_N=n, BLOCK_K=divisor(D, config.block_k), **_launch(module, config),
    )  # fmt: skip
    return inner


def down(module: Any, inner_PI: Tensor, routed: Routed, config: ExpertsConfig) -> Tensor:
    """Returns the experts' down projection, [P, D] in the order of experts."""
    (P, width), D = inner_PI.shape, module.hidden_dim
    out = torch.empty(P, D, dtype=inner_PI.dtype, device=inner_PI.device)
    n = divisor(D, config.block_n)
    prefill_kernels.down_tiles[(_num_tiles(module, P, config) * (D // n),)](
        inner_PI, module.down_proj, routed.starts, out,
        D=D, INNER=width, BLOCK_N=n, BLOCK_K=divisor(width, config.block_k), **_launch(module, config),
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
        "PADDED": max(16, power_of_two(module.num_experts)),
        "BLOCK_M": config.block_m,
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
    }


def _num_tiles(module: Any, pairs: int, config: ExpertsConfig) -> int:
    """Returns the most tiles there can be: each expert's last tile may hold a single pair."""
    experts: int = module.num_experts
    return -(-pairs // config.block_m) + min(experts, pairs)
