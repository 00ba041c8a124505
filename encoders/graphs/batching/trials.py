"""Runs the batches of one path and axis, and tries its graphs: measured against eager, and compared with it."""

import logging
import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import torch

from encoders.graphs.batching import budgets
from encoders.graphs.batching.packing import Latencies
from encoders.graphs.capturing.capture import Graph, Run
from encoders.graphs.capturing.checks import difference
from encoders.graphs.capturing.store import GraphStore
from encoders.graphs.path import Tensors, Unit
from encoders.graphs.settings import GraphSettings
from encoders.graphs.staging import Staging

logger = logging.getLogger(__name__)

# A graph that won by less sometimes lost when measured again (5 views in graphs of 4 and 1 on an H200).
MARGIN = 1.05


class Runner:
    """Runs batches of one path. store: the graphs. staging: carries inputs to the device, if given."""

    def __init__(self, store: GraphStore, staging: Staging | None) -> None:
        self._store, self._staging = store, staging
        self._path, self._stats = store.path, store.stats

    def replay(self, graph: Graph, units: Sequence[Unit]) -> Tensors:
        """Returns the units' rows, as copies that no later replay touches.

        Raises torch.OutOfMemoryError without room.
        """
        assert self._store.buffers is not None, "a graph without buffers"
        self._store.buffers.write(units, self._staging)
        self._store.capture.replay(graph)
        return {name: output[: self._num_rows(name, units)].clone() for name, output in graph.outputs.items()}

    def forward(self, units: Sequence[Unit]) -> Tensors:
        """Runs the units eagerly, without padding, in one batch. Raises torch.OutOfMemoryError if it does not fit."""
        if self._staging is None:
            return self._path.forward(self._path.collate(units, self._store.device))
        return self._path.forward(self._staging.collate(self._path.pieces(units), self._store.device))

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


class Trials:
    """Measures graphs. losing: sizes slower than eager. refused: those, and all others that must not come back."""

    def __init__(self, store: GraphStore, runner: Runner, settings: GraphSettings) -> None:
        self.latencies = Latencies(margin=MARGIN)
        self.losing: set[int] = set()
        self.refused: set[int] = set()
        self._store, self._runner = store, runner
        self._settings, self._stats = settings, store.stats

    def wins(self, size: int, tokens: int) -> bool:
        """Returns whether so many tokens are to be replayed by the graph of this size."""
        return self._settings.graphs == "on" or self.latencies.wins(size, tokens)

    def try_all(self) -> None:
        """Frees the graphs that lose or are wrong. Measures each size eagerly as well, captured or not."""
        path, axis = self._store.path, self._store.axis
        sizes = sorted(self._store.graphs)
        if self._settings.graphs == "on":
            self._select(sizes)
            return
        for size in sorted({*_eager_sizes(path.unit_tokens(axis), sizes[-1]), *sizes}):
            units = path.examples(axis, size)
            tokens = sum(unit.tokens for unit in units)
            # In one batch: a batch that has to be halved is what a graph must beat.
            self.latencies.eager[tokens] = self._seconds(partial(self._runner.forward, units), "eager", size)
            if size in sizes:
                replay = partial(self._runner.replay, self._store.graphs[size], units)
                self.latencies.replay[size] = self._seconds(replay, "replays", size)  # with copies in and out
        self._select(sizes)

    def try_new(self, size: int, least: int) -> None:
        """Tries one new graph, whose eager runs are not measured yet. least: the fewest tokens it is meant for.

        Both ways take turns, as this may happen in the middle of a run, with other work on the device.
        """
        path, axis = self._store.path, self._store.axis
        for tokens in sorted({path.unit_tokens(axis), least} - {size}):
            if tokens not in self.latencies.eager:
                run = partial(self._runner.forward, path.examples(axis, tokens))
                self.latencies.eager[tokens] = self._seconds(run, "eager", tokens)
        units = path.examples(axis, size)
        seconds = self._in_turn(size, units)
        if seconds is not None:
            tokens = sum(unit.tokens for unit in units)
            self.latencies.eager[tokens], self.latencies.replay[size] = seconds
            self._select([size])
        else:
            self.losing.add(size)
            self._stats.losing_graphs += 1
            self.refuse(size)

    def refuse(self, size: int) -> bool:
        """Frees a graph that must not be used again; returns False if it is gone already."""
        self.refused.add(size)
        if size not in self._store.graphs:
            return False
        self._store.drop(size)
        return True

    def _in_turn(self, size: int, units: Sequence[Unit]) -> list[float] | None:
        """Returns the seconds of eager runs and of replays of these units; None if memory does not suffice."""
        eager = partial(self._runner.forward, units)
        replay = partial(self._runner.replay, self._store.graphs[size], units)
        try:
            return self._store.capture.measure_in_turn([eager, replay], self._settings.repeats)
        except torch.OutOfMemoryError as error:
            reason = str(error)
        logger.warning("%s: not enough memory to try it: %s", self._store.label(size), reason)
        return None

    def _seconds(self, run: Run, what: str, size: int) -> float:
        """Returns the seconds of a run, infinite if it does not fit into memory."""
        try:
            return self._store.capture.measure(run, self._settings.repeats)
        except torch.OutOfMemoryError as error:
            reason = str(error)
        logger.warning("%s, %s: not enough memory: %s", self._store.label(size), what, reason)
        return math.inf

    def _select(self, sizes: Sequence[int]) -> None:
        losing = [size for size in sizes if not self.wins(size, size)]
        self.losing.update(losing)
        self._stats.losing_graphs += len(losing)
        for size in losing:
            self.refuse(size)
        for size in sizes:
            if size in self._store.graphs:
                self._verify(size)

    def _verify(self, size: int) -> None:
        """Frees a graph whose outputs on random units differ from eager's, if memory suffices for the comparison."""
        units = self._store.path.examples(self._store.axis, size)
        try:
            apart = difference(
                self._runner.replay(self._store.graphs[size], units), self._runner.eager(units)
            )
        except torch.OutOfMemoryError:
            self._stats.skipped_checks += 1
            logger.warning("%s is not compared with eager: not enough memory", self._store.label(size))
            return
        self._stats.parity_checks += 1
        if not apart <= self._settings.parity_tolerance:
            self._stats.parity_failures += 1
            logger.warning("%s and eager differ by %.2g: it is not used", self._store.label(size), apart)
            self.refuse(size)


def _eager_sizes(unit: int, largest: int) -> list[int]:
    """Returns doubling sizes and those halfway: few launches take constant time, so 4 to 8 views is not linear."""
    doubling = budgets.generate(unit, largest)
    between = [(low + high) // 2 // unit * unit for low, high in pairwise(doubling)]
    return [*doubling, *between]
