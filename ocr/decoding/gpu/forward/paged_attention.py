"""Attends over the block pool, as one of the language model's attention implementations.

Shapes: S slots, each with one token a step, H heads of keys, G query heads for each, d width of a head.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from ocr.decoding.gpu.forward.block_pool import BlockPool

try:
    import triton

    from ocr.decoding.gpu.kernels import paged_kernels
except ImportError:  # no wheel for this platform
    triton = None

NAME = "ocrbatch_paged"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttendConfig:
    """Launch settings of the kernel. splits: runs that a slot's blocks are divided into."""

    splits: int
    num_warps: int = 4
    num_stages: int = 3


def default_config(rows: int, processors: int = 132) -> AttendConfig:
    """Returns settings with enough programs to fill the device four times, as slots differ in length.

    rows: slots times key heads.
    """
    wanted = -(-4 * processors // rows)
    return AttendConfig(splits=min(32, 1 << (wanted - 1).bit_length()))


class StepCache:
    """The past_key_values of one decode step: new keys and values go into the pool, at each slot's length.

    plan_SP: int32 [S, 1 + max_blocks] on the pool's device: a slot's cached tokens, then its block table.
    fused: whether the Triton kernels run; else PyTorch's operators.
    """

    def __init__(
        self, pool: BlockPool, plan_SP: Tensor, *, fused: bool, config: AttendConfig | None = None
    ) -> None:
        self.pool = pool
        self.plan_SP = plan_SP
        self.fused = fused
        self.config = config

    def update(
        self, keys: Tensor, values: Tensor, layer_idx: int, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        """Appends keys and values, [S, H, 1, d]; returns the layer's whole pools, which paged_attention() reads."""
        (append_fused if self.fused else append_plain)(self, keys, values, layer_idx)
        return self.pool.keys[layer_idx], self.pool.values[layer_idx]

    @cached_property
    def on_host(self) -> list[list[int]]:
        """The tokens and the first block of each slot. Waits for the device, once a step."""
        rows: list[list[int]] = self.plan_SP[:, :2].tolist()
        return rows

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Returns 0, as each slot has its own length and the caller passes positions."""
        return 0


class PromptCache:
    """The past_key_values of a prefill: keys and values are written to the pool and attended to as they came."""

    def __init__(self, pool: BlockPool, blocks_NB: Tensor) -> None:
        self._pool = pool
        self._blocks_NB = blocks_NB

    def update(
        self, keys: Tensor, values: Tensor, layer_idx: int, *_: object, **__: object
    ) -> tuple[Tensor, Tensor]:
        """Writes prompts' keys and values, [N, H, L, d], to the pool and returns them."""
        self._pool.write_prompts(layer_idx, keys, values, self._blocks_NB)
        return keys, values.to(keys.dtype)

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Returns 0: nothing is cached before a prompt."""
        return 0


def append_plain(cache: StepCache, keys_SH1d: Tensor, values_SH1d: Tensor, layer: int) -> None:
    """Appends a step's keys and values to the pool with PyTorch's operators."""
    plan, size = cache.plan_SP.long(), cache.pool.shape.block_tokens
    positions_S1 = plan[:, :1]
    blocks_S1 = plan[:, 1:].gather(1, positions_S1 // size)
    places = (blocks_S1, slice(None), positions_S1 % size)
    for pool, states in ((cache.pool.keys[layer], keys_SH1d), (cache.pool.values[layer], values_SH1d)):
        pool[places] = states.transpose(1, 2).to(pool.dtype)


def append_fused(cache: StepCache, keys_SH1d: Tensor, values_SH1d: Tensor, layer: int) -> None:
    """Appends a step's keys and values to the pool with one Triton kernel."""
    S, H, _, D = keys_SH1d.shape
    keys, values = _rows_contiguous(keys_SH1d), _rows_contiguous(values_SH1d)
    paged_kernels.append[(S,)](
        keys, values, cache.pool.keys[layer], cache.pool.values[layer], cache.plan_SP, cache.plan_SP.stride(0),
        *keys.stride()[:2], *values.stride()[:2],
        H=H, D=D, BLOCK=cache.pool.shape.block_tokens, WIDTH=power_of_two(H * D), num_warps=4,
    )  # fmt: skip


def attend_plain(cache: StepCache, query_SN1d: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
    """Attends with PyTorch's operators, [S, H * G, 1, d] -> [S, 1, H * G, d].

    Waits for the device, so that only filled blocks are read. A page in a single block is read where it is.
    """
    if cache.plan_SP.shape[1] == 2:
        return _attend_in_place(cache, query_SN1d, keys, values, scale)
    lengths_S = cache.plan_SP[:, 0].long()
    count = cache.pool.shape.blocks(max(length for length, _ in cache.on_host) + 1)
    blocks_SB = cache.plan_SP[:, 1 : 1 + count].long()
    gathered = [states[blocks_SB].transpose(1, 2).flatten(2, 3) for states in (keys, values)]
    if (groups := query_SN1d.shape[1] // keys.shape[1]) > 1:
        gathered = [states.repeat_interleave(groups, 1) for states in gathered]
    seen_SL = torch.arange(gathered[0].shape[2], device=lengths_S.device) <= lengths_S[:, None]
    out_SN1d = scaled_dot_product_attention(
        query_SN1d, gathered[0], gathered[1], attn_mask=seen_SL[:, None, None], scale=scale
    )
    return out_SN1d.transpose(1, 2)


def _attend_in_place(
    cache: StepCache, query_SN1d: Tensor, keys: Tensor, values: Tensor, scale: float
) -> Tensor:
    """Does attend_plain() page by page: copying keys and values together takes longer than attending to them."""
    out_S1Nd = torch.empty_like(query_SN1d.transpose(1, 2), dtype=keys.dtype)
    # Heads that share keys become further queries, so that no key is repeated.
    slots, _, _, width = query_SN1d.shape
    query_SHGd = query_SN1d.to(keys.dtype).reshape(slots, keys.shape[1], -1, width)
    for row, (length, block) in enumerate(cache.on_host):
        seen = slice(0, length + 1)
        out_1HGd = scaled_dot_product_attention(
            query_SHGd[row : row + 1], keys[None, block, :, seen], values[None, block, :, seen], scale=scale
        )
        out_S1Nd[row, 0] = out_1HGd[0].flatten(0, 1)
    return out_S1Nd


def attend_fused(cache: StepCache, query_SN1d: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
    """Attends with Triton kernels, [S, H * G, 1, d] -> [S, 1, H * G, d], contiguous.

    Does not wait for the device, and allocates by shapes alone, so that it can be captured.
    """
    S, N, _, D = query_SN1d.shape
    H = keys.shape[1]
    config = cache.config or default_config(S * H)
    query = _rows_contiguous(query_SN1d)
    out = torch.empty(S, 1, N, D, dtype=query.dtype, device=query.device)
    partial = weights = out
    if config.splits > 1:
        partial = torch.empty(config.splits, S, N, D, dtype=torch.float32, device=query.device)
        weights = torch.empty(config.splits, S, N, dtype=torch.float32, device=query.device)
    paged_kernels.attend[(S * H, config.splits)](
        query, keys, values, cache.plan_SP, out, partial, weights, scale, cache.plan_SP.stride(0),
        *query.stride()[:2], S,
        H=H, GROUP=N // H, D=D, BLOCK=cache.pool.shape.block_tokens,
        BLOCK_M=max(16, power_of_two(N // H)), SPLITS=config.splits,
        num_warps=config.num_warps, num_stages=config.num_stages,
    )  # fmt: skip
    if config.splits > 1:
        paged_kernels.merge[(S * N,)](
            partial, weights, out, S * N,
            D=D, SPLITS=config.splits, PADDED=power_of_two(config.splits), num_warps=1,
        )  # fmt: skip
    return out


def paged_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float,
    paged: StepCache | None = None,
    **_: object,
) -> tuple[Tensor, Tensor | None]:
    """Returns the language model's attention. paged: the step's cache, passed to the text model; without it, SDPA."""
    if paged is None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling)  # type: ignore[no-any-return]
    attend = attend_fused if paged.fused else attend_plain
    return attend(paged, query, key, value, scaling), None


@cache
def _register() -> None:
    """Tells transformers of paged_attention(), once a text model is there: importing it takes seconds."""
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, paged_attention)


@contextmanager
def paged_forward(config: Any, experts: str | None = None) -> Iterator[None]:
    """Makes a text model use paged_attention(), and transformers' named experts if any, within the context.

    The configuration is the model's own: not for use while another thread runs the same model.
    """
    values = {
        "_attn_implementation": NAME,
        **({} if experts is None else {"_experts_implementation": experts}),
    }
    _register()
    before: dict[str, Any] = {name: getattr(config, name, None) for name in values}
    try:
        for name, value in values.items():
            setattr(config, name, value)
        yield
    finally:
        for name, earlier in before.items():
            setattr(config, name, earlier)


def kernels_take(device: torch.device, head_dim: int) -> bool:
    """Returns whether the Triton kernels run here: on NVIDIA GPUs since Ampere, for heads of a power of two."""
    if triton is None or device.type != "cuda" or torch.version.hip is not None:
        return False
    power = head_dim >= 16 and head_dim & (head_dim - 1) == 0
    return power and torch.cuda.get_device_properties(device).major >= 8


def _rows_contiguous(states: Tensor) -> Tensor:
    return states if states.stride(-1) == 1 else states.contiguous()


def power_of_two(count: int) -> int:
    """Returns the least power of two that is no less than the count."""
    return 1 << (count - 1).bit_length()
