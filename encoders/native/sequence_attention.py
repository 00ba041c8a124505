"""Attention within sequences that lie end to end in one batch, such as the frames of videos or windows of images.

Where sequences begin is read on the device alone, so that a captured graph serves any of them. Rows after the last
sequence are padding: they change no other row, whatever they hold, and come back finite.

Shapes: P rows, H heads of D; S sequences of at most L rows.
"""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor
from torch.nn import functional

from encoders.attention.switch import CUDNN_KERNEL, SEQUENCES_KERNEL, give_up, takes_long, takes_sequences

# Queries whose scores are computed at once where sequences are told apart by a mask.
_MASKED_QUERIES = 1024
# Rows from which on cuDNN's attention is worth its plan: .05 s, once for each number and length of sequences.
_LONG = 4096


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences of a batch. offsets: int32 [S + 1], where each begins and the last ends; empty ones may follow.

    longest: at least as long as any of them. Its cost is that of launching, so it may be the number of all rows.
    filled: whether all are as long as that and no row lies after them.
    """

    offsets: Tensor
    longest: int
    filled: bool = False


def sequence_attention(query_PHD: Tensor, key_PHD: Tensor, value_PHD: Tensor, sequences: Sequences) -> Tensor:
    """Returns the attention of each row to all rows of its own sequence, [P, H, D]; scores scaled by D ** -0.5.

    Takes PyTorch's kernel for sequences of any length (2.10 and later) where it runs, 16-bit types on NVIDIA from
    Ampere on; on Hopper cuDNN's for long ones of one length, a third less. Elsewhere its operators compute the same:
    sequences padded to equal lengths, or all rows together with a mask, whichever is less work. It is known from the
    shapes. Within one_backend() that one alone; what it cannot take raises.
    """
    tensors = (query_PHD, key_PHD, value_PHD)
    if sequences.filled and sequences.longest >= _LONG and takes_long(tensors):
        try:
            return _by_cudnn(*tensors, sequences.longest)
        except Exception as error:
            give_up(CUDNN_KERNEL, query_PHD.device, error)
    if takes_sequences(tensors):
        try:
            return _by_pytorch(*tensors, sequences)
        except Exception as error:
            give_up(SEQUENCES_KERNEL, query_PHD.device, error)
    num_sequences = sequences.offsets.shape[0] - 1
    if num_sequences * sequences.longest**2 <= query_PHD.shape[0] ** 2:
        return _padded(*tensors, sequences)
    return _masked(*tensors, sequences)


def _by_pytorch(query: Tensor, key: Tensor, value: Tensor, sequences: Sequences) -> Tensor:
    from torch.nn.attention.varlen import varlen_attn  # since PyTorch 2.10

    offsets, longest = sequences.offsets, sequences.longest
    attended = cast(Tensor, varlen_attn(query, key, value, offsets, offsets, longest, longest))
    # The kernel leaves padding as it found the memory, which may hold NaN.
    return attended.masked_fill(_is_padding(len(query), offsets)[:, None, None], 0)


def _by_cudnn(query: Tensor, key: Tensor, value: Tensor, length: int) -> Tensor:
    # By its operator: which back end PyTorch's function takes is a switch of the whole process, other threads' too.
    batches = (tensor.view(-1, length, *query.shape[1:]).transpose(1, 2) for tensor in (query, key, value))
    attended: Tensor = torch.ops.aten._scaled_dot_product_cudnn_attention(*batches, None, False)[0]
    return attended.transpose(1, 2).flatten(0, 1)


def _padded(query: Tensor, key: Tensor, value: Tensor, sequences: Sequences) -> Tensor:
    """Attends in a batch of S sequences of L rows. A sequence that is shorter repeats its own last row, unattended."""
    starts, ends = sequences.offsets[:-1], sequences.offsets[1:]
    slots = torch.arange(sequences.longest, device=query.device, dtype=starts.dtype)
    rows_SL = torch.minimum(starts[:, None] + slots, (ends[:, None] - 1).clamp_min(0))
    # One key always: a softmax over none is NaN.
    valid_SL = (slots < (ends - starts)[:, None]) | (slots == 0)
    queries, keys, values = (tensor[rows_SL].transpose(1, 2) for tensor in (query, key, value))
    attended = functional.scaled_dot_product_attention(
        queries, keys, values, attn_mask=valid_SL[:, None, None]
    )
    rows = torch.arange(len(query), device=query.device, dtype=starts.dtype)
    owner = torch.searchsorted(ends, rows, right=True).clamp_max(len(starts) - 1)
    slot = (rows - starts[owner]).clamp(0, sequences.longest - 1)
    return attended.transpose(1, 2)[owner, slot]


def _masked(query: Tensor, key: Tensor, value: Tensor, sequences: Sequences) -> Tensor:
    """Attends to all rows with a mask, a number of queries at a time. Padding is zeros and attends to itself."""
    padding = _is_padding(len(query), sequences.offsets)
    query, key, value = (
        tensor.masked_fill(padding[:, None, None], 0).transpose(0, 1) for tensor in (query, key, value)
    )
    rows = torch.arange(len(padding), device=padding.device, dtype=sequences.offsets.dtype)
    owner = torch.searchsorted(sequences.offsets[1:], rows, right=True)
    parts = []
    for start in range(0, len(padding), _MASKED_QUERIES):
        some = slice(start, start + _MASKED_QUERIES)
        mask = owner[some, None] == owner
        parts.append(functional.scaled_dot_product_attention(query[:, some], key, value, attn_mask=mask))
    return torch.cat(parts, 1).transpose(0, 1)


def _is_padding(num_rows: int, offsets: Tensor) -> Tensor:
    """Returns [P], True for rows after the last sequence."""
    return torch.arange(num_rows, device=offsets.device, dtype=offsets.dtype) >= offsets[-1]
