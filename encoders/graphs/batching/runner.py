"""Runs the batches of one path, replayed or eagerly."""

import logging
from collections.abc import Sequence

import torch

from encoders.graphs.capturing.capture import Graph
from encoders.graphs.capturing.store import GraphStore
from encoders.graphs.inputs.staging import Staging
from encoders.graphs.path import GraphPath, Tensors, Unit
from encoders.graphs.stats import PathStats

logger = logging.getLogger(__name__)


class Runner:
    """Runs batches of one path. store: the graphs, None without any.

    staging: carries inputs to the device, if given.
    """

    def __init__(
        self,
        path: GraphPath,
        device: torch.device,
        store: GraphStore | None,
        staging: Staging | None,
        stats: PathStats,
    ) -> None:
        self._path = path
        self._device = device
        self._store = store
        self._staging = staging
        self._stats = stats

    def replay(self, graph: Graph, units: Sequence[Unit]) -> Tensors:
        """Returns the units' rows, as copies that no later replay touches.

        Raises torch.OutOfMemoryError without room.
        """
        assert self._store is not None, "a graph without a store"
        assert self._store.buffers is not None, "a graph without buffers"
        self._store.buffers.write(units, self._staging)
        self._store.capture.replay(graph)
        return {name: output[: self._num_rows(name, units)].clone() for name, output in graph.outputs.items()}

    def forward(self, units: Sequence[Unit]) -> Tensors:
        """Runs the units eagerly, without padding, in one batch. Raises torch.OutOfMemoryError if it does not fit."""
        if self._staging is None:
            return self._path.forward(self._path.collate(units, self._device))
        return self._path.forward(self._staging.collate(self._path.pieces(units), self._device))

    def eager(self, units: Sequence[Unit]) -> Tensors:
        """Runs the units eagerly, in as many halves as memory demands.

        Raises torch.OutOfMemoryError if one does not fit.
        """
        try:
            return self.forward(units)
        except torch.OutOfMemoryError:
            if len(units) == 1:
                raise
        # Only here, once the failed forward's tensors are freed with its traceback.
        if not self._stats.split_batches:
            logger.warning(
                "a batch of %d units of path %s does not fit into memory: it runs in halves; lower max_items",
                len(units),
                self._path.name,
            )
        self._stats.split_batches += 1
        middle = len(units) // 2
        first, second = self.eager(units[:middle]), self.eager(units[middle:])
        return {
            name: torch.cat(
                [
                    output[: self._num_rows(name, units[:middle])],
                    second[name][: self._num_rows(name, units[middle:])],
                ]
            )
            for name, output in first.items()
        }

    def _num_rows(self, name: str, units: Sequence[Unit]) -> int:
        return sum(self._path.rows(name, unit) for unit in units)
