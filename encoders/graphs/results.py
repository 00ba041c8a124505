"""What comes back from batches: each unit's own rows, and which replays cannot be believed."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from encoders.graphs.axis_graphs import AxisGraphs
from encoders.graphs.capturing.capture import Graph
from encoders.graphs.path import GraphPath, Tensors, Unit, Use


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncodedUnit:
    """outputs: the unit's own rows; the units of a batch share memory, which no later call touches.

    use: whether it was replayed ("hit"), had no fitting graph ("miss"), or was not to be ("eager").
    """

    outputs: Tensors
    use: Use


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replayed:
    """A replay whose finiteness is looked at once all batches are under way.

    members: its units' indices. checksum: on the device, finite if what it returned is.
    """

    graphs: AxisGraphs
    graph: Graph
    members: Sequence[int]
    checksum: torch.Tensor


def not_finite(replayed: Sequence[Replayed]) -> list[Replayed]:
    """Waits for the device, once for all replays."""
    if not replayed:
        return []
    flags = torch.stack([entry.checksum for entry in replayed]).isfinite().tolist()
    return [entry for entry, finite in zip(replayed, flags, strict=True) if not finite]


def finished(
    path: GraphPath, members: Sequence[int], units: Sequence[Unit], outputs: Tensors, use: Use
) -> dict[int, EncodedUnit]:
    """Each member's own rows, by its index."""
    parts = path.finish_all(units, path.split(outputs, units))
    return {index: EncodedUnit(outputs=part, use=use) for index, part in zip(members, parts, strict=True)}
