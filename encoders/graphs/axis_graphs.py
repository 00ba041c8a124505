"""One path and axis: groups its units into batches, picks a graph for each, and runs it replayed or eagerly."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence

import torch

from encoders.graphs.batching import budgets
from encoders.graphs.batching.packing import Batch, Bounds, pack
from encoders.graphs.batching.runner import Runner
from encoders.graphs.batching.trials import Trials
from encoders.graphs.batching.wanted import due_sizes
from encoders.graphs.capturing.buffers import have_room, input_rows
from encoders.graphs.capturing.capture import Capture, Graph
from encoders.graphs.capturing.store import GraphStore
from encoders.graphs.inputs.staging import Staging
from encoders.graphs.path import GraphPath, Tensors, Unit, Use
from encoders.graphs.settings import GraphSettings
from encoders.graphs.stats import PathStats


class AxisGraphs:
    """The graphs of one path and axis. wanted: the sizes to capture, ascending. capture: None runs everything eagerly.

    staging: carries inputs to the device. observed: how often batches of each number of tokens were requested.
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
        staging: Staging | None = None,
    ) -> None:
        self.path = path
        self.axis = axis
        self.wanted = list(wanted)
        self.observed: Counter[int] = Counter()
        self.store = None if capture is None else GraphStore(path, axis, device, capture, stats)
        self.stats = stats
        self._settings = settings
        self._capture = capture
        self._runner = Runner(path, device, self.store, staging, stats)
        self._trials = self._new_trials()

    @property
    def num_bytes(self) -> int:
        """Returns the bytes of the graphs and their buffers."""
        return 0 if self.store is None else self.store.num_bytes

    @property
    def sizes(self) -> list[int]:
        """Returns the tokens of the graphs that are in use, ascending."""
        return [] if self.store is None else sorted(self.store.graphs)

    def plan(self, units: Sequence[Unit]) -> list[Batch]:
        """Returns the units as batches, and counts what was requested, so that budgets can be chosen later."""
        sizes, tokens = self.sizes, [unit.tokens for unit in units]
        most = self.path.most_tokens(self.axis, self._settings.max_items)
        bound = self.wanted[-1] if sizes and self.wanted else most
        latencies = self._trials.latencies if self._trials and self._trials.latencies.eager else None
        if self._on_demand and sum(tokens) > max(sizes, default=0):
            # Nothing was measured for this many, so they are not cut up to fit graphs.
            sizes, latencies = [], None
        if bound:
            full, rest = divmod(sum(tokens), bound)
            self.observed.update({bound: full, rest: 1} if rest else {bound: full})
        items, max_items = [unit.items for unit in units], self._settings.max_items
        bounds = Bounds(max_tokens=bound, max_items=max_items, sizes=sizes)
        batches = pack(tokens, bounds, items=items, latencies=latencies)
        if latencies is None or any(batch.size is not None for batch in batches):
            return batches
        # No graph wins: smaller batches only look cheaper, as measurements vary, and are launched more often.
        return pack(tokens, Bounds(max_tokens=most, max_items=max_items), items=items)

    def pick(self, units: Sequence[Unit]) -> tuple[Graph | None, Use]:
        """Returns the smallest graph that holds the units and beats eager for them, and how to count the units."""
        if self.store is None or self._trials is None:
            return None, "eager"
        tokens = sum(unit.tokens for unit in units)
        rows = input_rows(self.path, units)
        fitting = [
            graph
            for size, graph in sorted(self.store.graphs.items())
            if size >= tokens and have_room(graph.inputs, rows)
        ]
        for graph in fitting:
            if self._trials.latencies.wins(graph.tokens, tokens):
                fresh = self.store.sound(graph)
                if fresh is None:
                    self._trials.refused.add(graph.tokens)
                return fresh, "eager" if fresh is None else "hit"
        beaten = bool(fitting) or self._on_demand or any(size >= tokens for size in self._trials.losing)
        return None, "eager" if beaten else "miss"

    def replay(self, graph: Graph, units: Sequence[Unit]) -> Tensors:
        """Returns the units' rows, as copies that no later replay touches.

        Raises torch.OutOfMemoryError without room.
        """
        return self._runner.replay(graph, units)

    def eager(self, units: Sequence[Unit]) -> Tensors:
        """Returns the units' rows, run without a graph or padding, in several batches if memory is short for one."""
        return self._runner.eager(units)

    def settle(self, seen: Mapping[int, int] | None) -> None:
        """Keeps the captured graphs that win and agree with eager; given `seen`, the best of these for it.

        seen: how often to expect batches of each number of tokens. Empty: as a long queue produces them.
        """
        if self._trials is None or not self.sizes:
            return
        self._trials.try_all()
        if seen is not None:
            expected = seen or budgets.assumed(self.path.unit_tokens(self.axis), self.wanted[-1])
            latency_of = self._trials.latencies.replay.__getitem__
            self._keep(budgets.choose(expected, latency_of, self.sizes, self._settings.max_graphs))

    def grow(self, add: Callable[[GraphStore, int], None]) -> bool:
        """Captures the sizes that are due, and keeps those that win and agree with eager.

        Returns whether it captured any. add: captures one size.
        """
        if self._trials is None or not self._on_demand:
            return False
        known = self._trials.latencies.replay.keys() | self._trials.refused
        grown = False
        for size in due_sizes(self.wanted, self.observed, known, self._settings):
            if self._has_room_for_more:
                self._grow_by(size, self._trials, add)
                grown = True
        return grown

    def drop(self, size: int) -> bool:
        """Frees a graph that must not be used again; returns False if it is gone already."""
        return self._trials is not None and self._trials.refuse(size)

    def close(self) -> None:
        """Frees all graphs and buffers, and forgets what was measured; keeps what was observed."""
        if self.store is not None:
            self.store.close()
        self._trials = self._new_trials()

    @property
    def _on_demand(self) -> bool:
        return self._settings.capture_after is not None

    @property
    def _has_room_for_more(self) -> bool:
        chosen = self._settings.budgets_of(self.path.name) == "auto"
        return not chosen or len(self.sizes) < self._settings.max_graphs

    def _grow_by(self, size: int, trials: Trials, add: Callable[[GraphStore, int], None]) -> None:
        """Captures and tries one size. If it is the largest, captures all others again, into larger buffers."""
        assert self.store is not None, "trials without a store"
        again: list[int] = []
        if size > max(self.sizes, default=0):
            again = self.sizes
            self.store.close()
        for each in [size, *reversed(again)]:
            add(self.store, each)
            if each not in self.store.graphs:
                trials.refused.add(each)
        if size in self.store.graphs:
            below = max((other for other in self.wanted if other < size), default=0)
            trials.try_new(size, below + self.path.unit_tokens(self.axis))

    def _new_trials(self) -> Trials | None:
        if self.store is None or self._capture is None:
            return None
        return Trials(self.store, self._capture, self._runner, self._settings, self.stats)

    def _keep(self, sizes: Sequence[int]) -> None:
        """Frees all graphs but those of these sizes."""
        assert self.store is not None, "graphs without a store"
        for size in set(self.sizes) - set(sizes):
            self.store.drop(size)


def by_axis(units: Sequence[Unit]) -> dict[Hashable, list[int]]:
    """Returns the indices of the units of each axis, in order."""
    indices: dict[Hashable, list[int]] = {}
    for index, unit in enumerate(units):
        indices.setdefault(unit.axis, []).append(index)
    return indices
