"""One path and axis: which batches its units make, which of its graphs are worth it, and running either way."""

import logging
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import partial

import torch

from encoders.graphs import budgets
from encoders.graphs.buffers import have_room, input_rows
from encoders.graphs.capture import Capture, Graph
from encoders.graphs.checks import difference
from encoders.graphs.latency import Latencies
from encoders.graphs.packing import Batch, Bounds, pack
from encoders.graphs.path import GraphPath, Tensors, Unit, Use
from encoders.graphs.settings import GraphSettings
from encoders.graphs.stats import PathStats
from encoders.graphs.store import GraphStore

logger = logging.getLogger(__name__)


class AxisGraphs:
    """wanted: the sizes to capture, ascending. capture: None where everything runs eagerly.

    observed: how often batches of so many tokens were asked for.
    """

    def __init__(
        self,
        path: GraphPath,
        axis: Hashable,
        wanted: Sequence[int],
        settings: GraphSettings,
        device: torch.device,
        capture: Capture | None,
        stats: PathStats,
    ) -> None:
        self.path = path
        self.axis = axis
        self.wanted = list(wanted)
        self.observed: Counter[int] = Counter()
        self.latencies = Latencies()
        self.store = None if capture is None else GraphStore(path, axis, device, capture, stats)
        self._settings = settings
        self._device = device
        self._capture = capture
        self.stats = stats
        self._losing: list[int] = []

    @property
    def num_bytes(self) -> int:
        """Of the graphs and their buffers."""
        return 0 if self.store is None else self.store.num_bytes

    @property
    def sizes(self) -> list[int]:
        """Tokens of the graphs that are in use, ascending."""
        return [] if self.store is None else sorted(self.store.graphs)

    def plan(self, units: Sequence[Unit]) -> list[Batch]:
        """The units as batches. Counts what was asked for, for choosing budgets later."""
        bound = self.wanted[-1] if self.wanted else 0
        if bound:
            full, rest = divmod(sum(unit.tokens for unit in units), bound)
            self.observed.update({bound: full, rest: 1} if rest else {bound: full})
        sizes = self.sizes
        return pack(
            [unit.tokens for unit in units],
            Bounds(max_tokens=bound, max_items=self._settings.max_items, sizes=sizes),
            items=[unit.items for unit in units],
            latencies=self.latencies if sizes else None,
        )

    def pick(self, units: Sequence[Unit]) -> tuple[Graph | None, Use]:
        """The smallest graph that holds the units and beats eager for them, and how the units are to be counted."""
        if self.store is None:
            return None, "eager"
        tokens = sum(unit.tokens for unit in units)
        rows = input_rows(self.path, units)
        fitting = [
            graph
            for size, graph in sorted(self.store.graphs.items())
            if size >= tokens and have_room(graph.inputs, rows)
        ]
        for graph in fitting:
            if self.latencies.wins(graph.tokens, tokens):
                fresh = self.store.sound(graph)
                return fresh, "eager" if fresh is None else "hit"
        beaten = bool(fitting) or any(size >= tokens for size in self._losing)
        return None, "eager" if beaten else "miss"

    def replay(self, graph: Graph, units: Sequence[Unit]) -> Tensors:
        """The units' rows, as copies that no later replay touches."""
        assert self._capture is not None, "a graph without a capture"
        assert self.store is not None, "a graph without a store"
        assert self.store.buffers is not None, "a graph without buffers"
        self.store.buffers.write(units)
        self._capture.replay(graph)
        return {
            name: output[: sum(self.path.rows(name, unit) for unit in units)].clone()
            for name, output in graph.outputs.items()
        }

    def eager(self, units: Sequence[Unit]) -> Tensors:
        """The same without a graph and without padding."""
        return self.path.forward(self.path.collate(units, self._device))

    def settle(self, seen: Mapping[int, int] | None) -> None:
        """Keeps the captured graphs that win and that agree with eager; of these, with seen, the best for it.

        seen: how often batches of so many tokens are expected.
        """
        if self.sizes:
            self._time()
            self._verify()
        if seen:
            latency_of = self.latencies.replay.__getitem__
            self._keep(budgets.choose(seen, latency_of, self.sizes, self._settings.max_graphs))

    def drop(self, size: int) -> bool:
        """Frees one graph; False if it is gone already."""
        if self.store is None or size not in self.store.graphs:
            return False
        self.store.drop(size)
        return True

    def close(self) -> None:
        """Frees all graphs and buffers, and forgets what was measured; what was observed is kept."""
        if self.store is not None:
            self.store.close()
        self.latencies = Latencies()
        self._losing = []

    def _time(self) -> None:
        """Measures replays and eager runs, each with its copies in and out, and frees the graphs that lose."""
        assert self._capture is not None, "a graph without a capture"
        assert self.store is not None, "a graph without a store"
        repeats = self._settings.repeats
        sizes = self.sizes
        for size in sorted({*budgets.generate(self.path.unit_tokens(self.axis), sizes[-1]), *sizes}):
            units = self.path.examples(self.axis, size)
            tokens = sum(unit.tokens for unit in units)
            self.latencies.eager[tokens] = self._capture.measure(partial(self.eager, units), repeats)
            if size in self.store.graphs:
                run = partial(self.replay, self.store.graphs[size], units)
                self.latencies.replay[size] = self._capture.measure(run, repeats)
        self._losing = [size for size in sizes if not self.latencies.wins(size, size)]
        self.stats.losing_graphs += len(self._losing)
        self._keep(set(sizes) - set(self._losing))

    def _verify(self) -> None:
        """Frees graphs that do not return what eager returns, on random units."""
        assert self.store is not None, "a graph without a store"
        for size, graph in sorted(self.store.graphs.items()):
            units = self.path.examples(self.axis, size)
            apart = difference(self.replay(graph, units), self.eager(units))
            self.stats.parity_checks += 1
            if not apart <= self._settings.parity_tolerance:
                self.stats.parity_failures += 1
                logger.warning("%s and eager differ by %.2g: it is not used", self.store.label(size), apart)
                self.drop(size)

    def _keep(self, sizes: Sequence[int] | set[int]) -> None:
        for size in set(self.sizes) - set(sizes):
            self.drop(size)


def by_axis(units: Sequence[Unit]) -> dict[Hashable, list[int]]:
    """Indices of the units of each axis, in order."""
    indices: dict[Hashable, list[int]] = {}
    for index, unit in enumerate(units):
        indices.setdefault(unit.axis, []).append(index)
    return indices
