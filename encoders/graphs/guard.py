"""Finds replays whose results cannot be trusted, and drops their graphs."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from encoders.graphs.axis_graphs import AxisGraphs
from encoders.graphs.capturing.capture import Graph
from encoders.graphs.capturing.checks import all_finite, difference
from encoders.graphs.path import Tensors, Unit
from encoders.graphs.settings import GraphSettings

logger = logging.getLogger(__name__)


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


class Guard:
    """Checks replays. Each kind of failure is logged once a path; the statistics count the rest."""

    def __init__(self, settings: GraphSettings) -> None:
        self._settings = settings
        self._warned: set[tuple[str, str]] = set()

    def sample(
        self, state: AxisGraphs, graph: Graph, units: Sequence[Unit], outputs: Tensors
    ) -> Tensors | None:
        """Compares every parity_every-th replay with eager.

        Returns eager's outputs if the graph is dropped, else None.
        """
        every = self._settings.parity_every
        if not every or state.stats.replays % every:
            return None
        try:
            expected = state.runner.eager(units)
            apart = difference(outputs, expected)
            right = apart <= self._settings.parity_tolerance or not all_finite(expected)
        except torch.OutOfMemoryError:  # the replay's own results are still good
            state.stats.skipped_checks += 1
            return None
        state.stats.parity_checks += 1
        if right:
            return None
        state.stats.parity_failures += 1
        self._give_up(state, graph, "parity", f"differed from eager by {apart:.2g}")
        return expected

    def retry(self, state: AxisGraphs, graph: Graph, units: Sequence[Unit]) -> Tensors:
        """Returns eager's outputs for a replay that was not finite. If those are not finite either, the graph stays."""
        outputs = state.runner.eager(units)
        state.stats.eager_batches += 1
        if all_finite(outputs):
            state.stats.nan_traps += 1
            self._give_up(state, graph, "nan", "returned NaN or infinity where eager does not")
        else:
            state.stats.nonfinite_batches += 1
            name = state.path.name
            self._warn(
                name, "nonfinite", f"path {name} returns NaN or infinity for some units, eagerly as well"
            )
        return outputs

    def failed(self, state: AxisGraphs, graph: Graph, error: Exception) -> None:
        """Drops a graph whose replay raised."""
        self._give_up(state, graph, "replay", f"cannot be replayed ({' '.join(str(error).split())[:300]})")

    def oversize(self, path: str, items: int, most: int) -> None:
        """Warns of a unit of more items than graphs have room for."""
        reason = f"runs alone and without a graph, as {most} are the most: raise max_frames"
        self._warn(path, "oversize", f"path {path}: a unit of {items} frames {reason}")

    def many(self, path: str, num: int) -> None:
        """Warns of so many graphs."""
        message = f"{num} graphs are captured, of every size for each axis of path {path}: list fewer budgets"
        self._warn(path, "many", message)

    def _give_up(self, state: AxisGraphs, graph: Graph, kind: str, reason: str) -> None:
        if state.drop(graph.tokens):
            state.stats.dropped_graphs += 1
        name = state.path.name
        self._warn(
            name, kind, f"the graph of {graph.tokens} tokens of path {name} {reason}: it is not used any more"
        )

    def _warn(self, path: str, kind: str, message: str) -> None:
        if (path, kind) not in self._warned:
            self._warned.add((path, kind))
            logger.warning(message)
