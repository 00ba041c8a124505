"""Whether what a graph returned can be believed."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor


def checksum(outputs: Mapping[str, Tensor]) -> Tensor:
    """A float32 [] on the outputs' device, finite just if all their values are: one reduction each, and no wait.

    Sums are at least in float32, which values that a model can mean do not overflow.
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
    """Waits for the device."""
    return bool(checksum(outputs).isfinite())


def difference(ours: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> float:
    """The largest over all outputs: relative L2 difference, or share of differing integers; NaN if one holds it."""
    worst = 0.0
    for name, mine in ours.items():
        other = theirs[name]
        if mine.is_floating_point():
            apart = (mine.double() - other.double()).norm() / other.double().norm().clamp_min(1e-12)
        else:
            apart = (mine != other).double().mean()
        worst = max(worst, float(apart)) if apart.isfinite() else math.nan
        if math.isnan(worst):
            break
    return worst
