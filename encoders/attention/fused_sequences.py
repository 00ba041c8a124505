"""Launches the kernel for attention within sequences end to end, as one operator.

torch.compile and CUDA graphs can trace it. Import only where Triton is installed. Run once outside a graph capture:
the first call compiles.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from encoders.attention import sequence_kernel
from encoders.attention.switch import power_of_two, takes
from encoders.operators import cuda_operator

MAX_HEAD_DIM = 128
BLOCK_M = 64  # queries a program; tiles() lists them


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceConfig:
    """Launch parameters. block_m, block_n: queries a program, keys a step; powers of two from 16."""

    block_m: int = BLOCK_M
    block_n: int = 64
    num_warps: int = 4
    num_stages: int = 3


def supports(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Returns whether attend() takes these: on NVIDIA from Ampere on, 16-bit, no gradient wanted."""
    head_dim = query.shape[-1]
    return (
        takes((query, key, value))
        and 16 <= head_dim <= MAX_HEAD_DIM
        and head_dim % 8 == 0
        and query.stride(-1) == 1
        and all(_described(tensor) for tensor in (key, value))
    )


def _described(tensor: Tensor) -> bool:
    """Returns whether blocks of it can be read by a descriptor: 16 bytes are the unit of its address and strides."""
    units = (tensor.stride(0), tensor.stride(1), tensor.data_ptr() // tensor.element_size())
    return tensor.stride(2) == 1 and all(unit % 8 == 0 for unit in units)


def tiles(offsets: Tensor, num_rows: int, block_m: int = BLOCK_M) -> Tensor:
    """Returns the blocks of queries, int32 [T, 3]: the first row, and where its sequence begins and ends.

    offsets: int32 [S + 1], of sequences that begin with row 0 and end with row num_rows at most; rows after the last
    one are a sequence of their own. T depends on num_rows and S alone; blocks that are too many have no rows.
    """
    bounds = torch.nn.functional.pad(offsets, (0, 1), value=num_rows)
    begins, ends = bounds[:-1], bounds[1:]
    counts = (ends - begins + block_m - 1) // block_m
    last = counts.cumsum(0)
    t = torch.arange(-(-num_rows // block_m) + len(counts), device=offsets.device)
    owner = torch.searchsorted(last, t, right=True).clamp_max(len(counts) - 1)
    first = begins[owner] + (t - (last - counts)[owner]) * block_m
    there = t < last[-1]
    rows = torch.stack([first, begins[owner], torch.where(there, ends[owner], 0)], dim=1)
    return rows.to(torch.int32)


def launch(query: Tensor, key: Tensor, value: Tensor, tiles_T3: Tensor, config: SequenceConfig) -> Tensor:
    """Returns the attention, [P, H, D], contiguous."""
    P, H, D = query.shape
    out = torch.empty(P, H, D, dtype=query.dtype, device=query.device)
    if out.numel() == 0:
        return out
    low = 1 << (D.bit_length() - 1)
    rest = power_of_two(D - low) if low < D else 0
    blocks = [
        TensorDescriptor(tensor, [P, H, D], list(tensor.stride()), [config.block_n, 1, width])
        for width in (low, rest or low)
        for tensor in (key, value)
    ]
    sequence_kernel.sequence_attention[(len(tiles_T3) * H,)](
        query, *blocks, tiles_T3, out, query.stride(0), query.stride(1), D**-0.5,
        H=H, D=D, LOW=low, REST=rest, BLOCK_M=config.block_m, BLOCK_N=config.block_n,
        num_warps=config.num_warps, num_stages=config.num_stages,
    )  # fmt: skip
    return out


def _fake(query: Tensor, key: Tensor, value: Tensor, tiles_T3: Tensor) -> Tensor:
    return query.new_empty(query.shape)


@cuda_operator("sequence_attention", _fake)
def sequence_attention_op(query: Tensor, key: Tensor, value: Tensor, tiles_T3: Tensor) -> Tensor:
    """Calls launch() with the default configuration."""
    return launch(query, key, value, tiles_T3, SequenceConfig())


def attend(query: Tensor, key: Tensor, value: Tensor, tiles_T3: Tensor) -> Tensor:
    """Returns the attention of each row to the rows of its own sequence, [P, H, D], scores scaled by D ** -0.5.

    tiles: of the sequences, with BLOCK_M.
    """
    out: Tensor = sequence_attention_op(query, key, value, tiles_T3)
    return out
