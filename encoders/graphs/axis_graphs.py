"""One path and axis: chooses the sizes to capture, groups units into batches, and picks a graph for each."""

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from itertools import pairwise

import torch

from encoders.graphs.batching import budgets
from encoders.graphs.batching.packing import Batch, Bounds, pack
from encoders.graphs.batching.trials import Runner, Trials
from encoders.graphs.capturing.buffers import META, have_room, input_rows
from encoders.graphs.capturing.capture import Capture, Graph
from encoders.graphs.capturing.store import GraphStore
from encoders.graphs.errors import GraphSettingsError
from encoders.graphs.path import GraphPath, Unit, Use
from encoders.graphs.settings import GraphSettings
from encoders.graphs.staging import Staging
from encoders.graphs.stats import PathStats


class AxisGraphs:
    """The graphs of one path and axis. wanted: the sizes to capture, ascending. capture: None runs everything eagerly.

    staging: carries inputs to the device. observed: how often batches of each number of tokens were requested. sizes:
    tokens of the graphs that are in use, ascending. runner: runs its batches.
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
        self.store = GraphStore(path, axis, device, capture or Capture(device), stats)
        self.stats = stats
        self._settings = settings
        self._captures = capture is not None
        self.runner = Runner(self.store, staging)
        self._trials = Trials(self.store, self.runner, settings)

    @property
    def sizes(self) -> list[int]:
        return sorted(self.store.graphs)

    def plan(self, units: Sequence[Unit]) -> list[Batch]:
        """Returns the units as batches, and counts what was requested, so that budgets can be chosen later."""
        sizes, tokens = self.sizes, [unit.tokens for unit in units]
        most = self.path.most_tokens(self.axis)
        bound = (sizes if self._settings.graphs == "on" else self.wanted)[-1] if sizes else most
        latencies = self._trials.latencies if self._trials.latencies.eager else None
        if self._on_demand and sum(tokens) > max(sizes, default=0):
            # Nothing was measured for this many, so they are not cut up to fit graphs.
            sizes, latencies = [], None
        if bound:
            full, rest = divmod(sum(tokens), bound)
            self.observed.update({bound: full, rest: 1} if rest else {bound: full})
        items, max_items = [unit.items for unit in units], self.path.max_items
        bounds = Bounds(max_tokens=bound, max_items=max_items, sizes=sizes)
        batches = pack(tokens, bounds, items=items, latencies=latencies)
        if latencies is None or any(batch.size is not None for batch in batches):
            return batches
        # No graph wins: smaller batches only look cheaper, as measurements vary, and are launched more often.
        return pack(tokens, Bounds(max_tokens=most, max_items=max_items), items=items)

    def pick(self, units: Sequence[Unit]) -> tuple[Graph | None, Use]:
        """Returns the smallest graph that holds the units and beats eager for them, and how to count the units."""
        if not self._captures:
            return None, "eager"
        tokens = sum(unit.tokens for unit in units)
        rows = input_rows(self.path, units)
        fitting = [
            graph
            for size, graph in sorted(self.store.graphs.items())
            if size >= tokens and have_room(graph.inputs, rows)
        ]
        for graph in fitting:
            if self._trials.wins(graph.tokens, tokens):
                fresh = self.store.sound(graph)
                if fresh is None:
                    self._trials.refused.add(graph.tokens)
                return fresh, "eager" if fresh is None else "hit"
        beaten = bool(fitting) or self._on_demand or any(size >= tokens for size in self._trials.losing)
        return None, "eager" if beaten else "miss"

    def settle(self, seen: Mapping[int, int] | None) -> None:
        """Keeps the captured graphs that win and agree with eager; given `seen`, the best of these for it.

        seen: how often to expect batches of each number of tokens. Empty: as a long queue produces them.
        """
        if not self.sizes:
            return
        self._trials.try_all()
        if seen is not None and self._settings.graphs == "auto":
            expected = seen or budgets.assumed(self.path.unit_tokens(self.axis), self.wanted[-1])
            latency_of = self._trials.latencies.replay.__getitem__
            kept = budgets.choose(expected, latency_of, self.sizes, self._settings.max_graphs)
            for size in set(self.sizes) - set(kept):
                self.store.drop(size)

    def grow(self, add: Callable[[GraphStore, int], None]) -> bool:
        """Captures the sizes that are due, and keeps those that win and agree with eager.

        Returns whether it captured any. add: captures one size.
        """
        if not self._captures or not self._on_demand:
            return False
        known = self._trials.latencies.replay.keys() | self._trials.refused
        limit = self._settings.max_graphs if self._settings.budgets_of(self.path.name) == "auto" else None
        grown = False
        for size in due_sizes(self.wanted, self.observed, known, self._settings):
            if limit is None or len(self.sizes) < limit:
                self._grow_by(size, add)
                grown = True
        return grown

    def drop(self, size: int) -> bool:
        """Frees a graph that must not be used again; returns False if it is gone already."""
        return self._trials.refuse(size)

    def close(self) -> None:
        """Frees all graphs and buffers, and forgets what was measured; keeps what was observed."""
        self.store.close()
        self._trials = Trials(self.store, self.runner, self._settings)

    @property
    def _on_demand(self) -> bool:
        return self._settings.capture_after is not None

    def _grow_by(self, size: int, add: Callable[[GraphStore, int], None]) -> None:
        """Captures and tries one size. If it is the largest, captures all others again, into larger buffers."""
        again: list[int] = []
        if size > max(self.sizes, default=0):
            again = self.sizes
            self.store.close()
        for each in [size, *reversed(again)]:
            add(self.store, each)
            if each not in self.store.graphs:
                self._trials.refused.add(each)
        if size in self.store.graphs:
            below = max((other for other in self.wanted if other < size), default=0)
            self._trials.try_new(size, below + self.path.unit_tokens(self.axis))


def by_axis(units: Sequence[Unit]) -> dict[Hashable, list[int]]:
    """Returns the indices of the units of each axis, in order."""
    indices: dict[Hashable, list[int]] = {}
    for index, unit in enumerate(units):
        indices.setdefault(unit.axis, []).append(index)
    return indices


def user_budgets(paths: Sequence[GraphPath], settings: GraphSettings) -> dict[str, list[int]]:
    """Returns the user's list of each path that has one.

    Raises GraphSettingsError, with the remedy, for one without sense.
    """
    known = [path.name for path in paths]
    for name in settings.budgets if isinstance(settings.budgets, Mapping) else ():
        if name not in known:
            raise GraphSettingsError(f"budgets names a path {name}; this encoder has {', '.join(known)}")
    chosen = {}
    for path in paths:
        sizes = settings.budgets_of(path.name)
        if sizes is not None and sizes != "auto":
            chosen[path.name] = budgets.validate(path.name, sizes, path.least_tokens)
    return chosen


def wanted_sizes(
    path: GraphPath, axis: Hashable, settings: GraphSettings, chosen: Sequence[int] | None
) -> list[int]:
    """Returns sizes in tokens, ascending; equivalent budgets are one. chosen: the user's, None to generate them.

    Raises GraphSettingsError if the input buffers of a chosen budget alone exceed memory_limit, which must be None
    where nothing is captured.
    """
    if chosen is None:
        make = budgets.generate_finely if settings.budgets_of(path.name) == "auto" else budgets.generate
        sizes = make(path.unit_tokens(axis), path.most_tokens(axis))
    else:
        sizes = list(chosen)
    held = sorted({path.captured_tokens(axis, size) for size in sizes} - {0})
    if chosen is not None and settings.memory_limit is not None:
        for size in held:
            needed = sum(like.nbytes for like in path.buffers(axis, size, META).values())
            if needed > settings.memory_limit:
                raise GraphSettingsError(
                    f"budgets of {path.name}: {size} tokens need {needed} bytes for their input alone, more than "
                    f"memory_limit, {settings.memory_limit}: leave them out or raise it"
                )
    return held


def due_sizes(
    wanted: Sequence[int], observed: Mapping[int, int], known: Container[int], settings: GraphSettings
) -> Iterator[int]:
    """Yields the sizes to capture now, largest first: those that enough batches came for.

    wanted: ascending. observed: how often batches of each number of tokens came. known: sizes already tried.
    """
    for below, size in reversed(list(pairwise([0, *wanted]))):
        if size > settings.due_tokens * settings.ranks or size in known or settings.capture_after is None:
            continue
        if (
            sum(count for tokens, count in observed.items() if below < tokens <= size)
            >= settings.capture_after
        ):
            yield size
