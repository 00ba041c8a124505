"""Results of batches: each unit's own rows, and the replays that cannot be trusted."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from encoders.graphs.axis_graphs import AxisGraphs
from encoders.graphs.capturing.capture import Graph
from encoders.graphs.path import GraphPath, Tensors, Unit, Use


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EncodedUnit:
    """The result of one unit. outputs: its own rows; units of a batch share memory, which no later call touches.

    use: "hit" if it was replayed, "miss" if no graph fitted, "eager" if no graph was to be used.
    """

    outputs: Tensors
    use: Use


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replayed:
    """A replay whose finiteness is checked once all batches have been launched.

    members: its units' indices. checksum: on the device, finite if all of its outputs are.
    """

    graphs: AxisGraphs
    graph: Graph
    members: Sequence[int]
    checksum: torch.Tensor


def not_finite(replayed: Sequence[Replayed]) -> list[Replayed]:
    """Returns the replays with outputs that are not finite. Waits for the device once for all of them."""
    if not replayed:
        return []
    flags = torch.stack([entry.checksum for entry in replayed]).isfinite().tolist()
    return [entry for entry, finite in zip(replayed, flags, strict=True) if not finite]


def finished(
    path: GraphPath, members: Sequence[int], units: Sequence[Unit], outputs: Tensors, use: Use
) -> dict[int, EncodedUnit]:
    """Returns each member's own rows, by its index."""
    parts = path.split(outputs, units)
    return {index: EncodedUnit(outputs=part, use=use) for index, part in zip(members, parts, strict=True)}
