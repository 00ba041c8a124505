"""Whether what a graph returned can be believed."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor


def all_finite(outputs: Mapping[str, Tensor]) -> Tensor:
    """A boolean on the outputs' device: no wait for it."""
    flags = [torch.isfinite(value).all() for value in outputs.values() if value.is_floating_point()]
    return torch.stack(flags).all() if flags else torch.tensor(True)


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
