"""Data parallelism: shares units among ranks, encodes them there, and gathers the outputs on every rank in order."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

T = TypeVar("T")
Outputs = Mapping[str, Tensor]
Layout = dict[str, tuple[torch.dtype, tuple[int, ...]]]


def assign(sizes: Sequence[int], ranks: int) -> list[list[int]]:
    """Returns the indices of each rank's units, ascending: the longest first, to the rank with the least so far.

    sizes: of their inputs, as a measure of the work. With fewer units than ranks some ranks get none.
    """
    loads = [0] * ranks
    shares: list[list[int]] = [[] for _ in range(ranks)]
    for index in sorted(range(len(sizes)), key=lambda index: (-sizes[index], index)):
        rank = min(range(ranks), key=lambda rank: (loads[rank], len(shares[rank]), rank))
        loads[rank] += sizes[index]
        shares[rank].append(index)
    return [sorted(share) for share in shares]


def gather(
    outputs: Sequence[Outputs],
    shares: Sequence[Sequence[int]],
    device: torch.device,
    group: dist.ProcessGroup | None = None,
) -> list[dict[str, Tensor]]:
    """Returns all ranks' outputs in the order of the units, on every rank; every rank must call it, even without units.

    outputs: this rank's, in the order of its share; units may differ in shape and in their tensors' names. Shapes are
    the tensors' own, never computed from a configuration, so newlines and separators cannot shift them. device: for the
    results, one that the group's backend can send from. Without an initialised group there is one rank. Raises
    ValueError, on every rank, if any rank has not as many outputs as its share has units.
    """
    mine = [_layout(output) for output in outputs]
    layouts: list[Any] = [mine]
    if _is_distributed():
        layouts = [None] * dist.get_world_size(group)
        dist.all_gather_object(layouts, mine, group=group)
    if [len(its) for its in layouts] != [len(share) for share in shares]:
        raise ValueError(
            f"ranks hold {[len(its) for its in layouts]} outputs for shares of {[len(share) for share in shares]} units"
        )
    lengths = [sum(map(_num_bytes, its)) for its in layouts]
    received = _exchange(outputs, lengths, device, group)
    ordered: dict[int, dict[str, Tensor]] = {}
    for share, its, sent in zip(shares, layouts, received, strict=True):
        parts = torch.split(sent, [_num_bytes(layout) for layout in its])
        ordered.update(
            {index: _unpack(part, layout) for index, layout, part in zip(share, its, parts, strict=True)}
        )
    return [ordered[index] for index in range(len(ordered))]


def encode_shared(
    units: Sequence[T],
    sizes: Sequence[int],
    encode: Callable[[Sequence[T]], Sequence[Outputs]],
    device: torch.device,
    group: dist.ProcessGroup | None = None,
) -> list[dict[str, Tensor]]:
    """Returns all units' outputs, in order: each rank, given the same units, encodes its share of them."""
    distributed = _is_distributed()
    shares = assign(sizes, dist.get_world_size(group) if distributed else 1)
    mine = [units[index] for index in shares[dist.get_rank(group) if distributed else 0]]
    return gather(encode(mine) if mine else [], shares, device, group)


def _is_distributed() -> bool:
    return dist.is_available() and dist.is_initialized()


def _layout(output: Outputs) -> Layout:
    """Returns the dtype and shape of each tensor, by name, in the order in which they are sent."""
    return {name: (output[name].dtype, tuple(output[name].shape)) for name in sorted(output)}


def _num_bytes(layout: Layout) -> int:
    return sum(dtype.itemsize * math.prod(shape) for dtype, shape in layout.values())


def _unpack(sent: Tensor, layout: Layout) -> dict[str, Tensor]:
    """Returns the tensors that these bytes hold, each in memory of its own."""
    lengths = [dtype.itemsize * math.prod(shape) for dtype, shape in layout.values()]
    parts = torch.split(sent, lengths)
    return {
        name: part.clone().view(dtype).view(shape)
        for (name, (dtype, shape)), part in zip(layout.items(), parts, strict=True)
    }


def _exchange(
    outputs: Sequence[Outputs],
    lengths: Sequence[int],
    device: torch.device,
    group: dist.ProcessGroup | None,
) -> list[Tensor]:
    """Returns every rank's tensors end to end, one row a rank. Sent as bytes: not every backend knows every dtype."""
    pieces = [torch.empty(0, dtype=torch.uint8, device=device)]
    for output in outputs:
        pieces += [output[name].to(device).contiguous().view(-1).view(torch.uint8) for name in sorted(output)]
    own = torch.cat(pieces)
    if not _is_distributed():
        return [own]
    padded = torch.zeros(max(lengths), dtype=torch.uint8, device=device)
    padded[: own.shape[0]] = own
    received = [torch.empty_like(padded) for _ in lengths]
    if max(lengths):
        dist.all_gather(received, padded, group=group)
    return [sent[:length] for sent, length in zip(received, lengths, strict=True)]
