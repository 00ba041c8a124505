"""Checks of a graph's outputs: whether they are finite, and how far they are from eager's."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor


def checksum(outputs: Mapping[str, Tensor]) -> Tensor:
    """Returns a float32 [] on the outputs' device, finite only if all their values are: one reduction each, no wait.

    Sums are at least in float32, which sensible values of a model do not overflow.
    """
    sums = [
        value.sum(dtype=torch.promote_types(value.dtype, torch.float32)).float()
        for value in outputs.values()
        if value.is_floating_point()
    ]
    if not sums:
        return torch.zeros((), device=next(iter(outputs.values())).device if outputs else None)
    return sums[0] if len(sums) == 1 else torch.stack(sums).sum()


def all_finite(outputs: Mapping[str, Tensor]) -> bool:
    """Returns whether all outputs are finite. Waits for the device."""
    return bool(checksum(outputs).isfinite())


# Numbers compared at once: 32 MB in float64, and there are a few copies.
_SLICE = 1 << 22


def difference(ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> float:
    """Returns the largest relative L2 difference, or share of differing integers, over all outputs.

    NaN if any has one.
    """
    worst = 0.0
    for name, mine in ours.items():
        apart = _apart(mine, theirs[name])
        worst = max(worst, float(apart)) if apart.isfinite() else math.nan
        if math.isnan(worst):
            break
    return worst


def _apart(mine: Tensor, other: Tensor) -> Tensor:
    """Returns the difference of one output: a float64 [], in slices of rows, as whole copies may not fit."""
    rows = max(1, _SLICE * len(mine) // max(1, mine.numel()))
    apart, size = torch.zeros(2, dtype=torch.float64, device=mine.device).unbind()
    for one, its in zip(torch.split(mine, rows), torch.split(other, rows), strict=True):
        if mine.is_floating_point():
            apart = apart + (one.double() - its.double()).square().sum()
            size = size + its.double().square().sum()
        else:
            apart = apart + (one != its).sum()
    if mine.is_floating_point():
        return apart.sqrt() / size.sqrt().clamp_min(1e-12)
    return apart / max(1, mine.numel())
