"""The encoder graph manager: takes units of any number of pages, and returns outputs in the same order."""

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import torch

from encoders.graphs.axis_graphs import AxisGraphs, by_axis, user_budgets, wanted_sizes
from encoders.graphs.capturing.buffers import check_units
from encoders.graphs.capturing.capture import Capture, CudaGraphCapture, Graph
from encoders.graphs.capturing.checks import checksum
from encoders.graphs.capturing.gate import working
from encoders.graphs.capturing.store import GraphStore
from encoders.graphs.errors import GraphSettingsError, ManagerClosedError, UnitError
from encoders.graphs.guard import Guard, Replayed, not_finite
from encoders.graphs.path import EncodedUnit, GraphPath, Tensors, Unit, Use
from encoders.graphs.settings import GraphSettings
from encoders.graphs.staging import CudaTransfers, Staging
from encoders.graphs.stats import PathStats

__all__ = ["EncodedUnit", "EncoderGraphManager"]

# More than the sizes of a few axes: each takes a part of a second at the start, and memory.
_MANY = 64


class EncoderGraphManager:
    """Runs each path's units in full batches, through graphs where they were measured to win.

    For one thread, and one current stream: graphs share a memory pool, so replays must follow each other, and only the
    current stream orders inputs, replays and the copies of outputs. Work on another stream must wait for this one
    before it reads outputs. Other threads may use the device; those that also capture graphs, or empty PyTorch's
    caches, do so within encoders.graphs.capturing.gate, as this manager does.

    capture: how to capture; by default CUDA graphs on a CUDA device. Elsewhere nothing is captured by default: all
    units run eagerly, in the same batches and with the same statistics. staging: carries units from host memory to the
    device; by default pinned slots on a CUDA device, elsewhere None.
    """

    def __init__(
        self,
        paths: Sequence[GraphPath],
        settings: GraphSettings,
        device: torch.device,
        capture: Capture | None = None,
        staging: Staging | None = None,
    ) -> None:
        for path in paths:
            path.limit(settings)
        self._paths = {path.name: path for path in paths}
        if len(self._paths) != len(paths):
            raise GraphSettingsError(f"two paths have one name: {[path.name for path in paths]}")
        self._device = device
        if settings.graphs == "off":
            capture = None
        elif capture is None and device.type == "cuda":
            capture = CudaGraphCapture(device)
        if capture is not None:
            capture.ranks = settings.ranks
        self._capture = capture
        # Without graphs nothing can exceed their memory limit, whatever the budgets are.
        self._settings = settings if capture is not None else replace(settings, memory_limit=None)
        if staging is None and device.type == "cuda":
            staging = Staging(CudaTransfers(device))
        self._staging = staging
        self._budgets = user_budgets(paths, settings)
        self._stats = {name: PathStats() for name in self._paths}
        self._axes: dict[tuple[str, Hashable], AxisGraphs] = {}
        self._templates: dict[str, dict[Hashable, Tensors]] = {name: {} for name in self._paths}
        self._guard = Guard(settings)
        self._closed = False

    def warm_up(
        self,
        axes: Mapping[str, Sequence[Hashable]],
        histogram: Mapping[tuple[str, Hashable], Mapping[int, int]] | None = None,
    ) -> None:
        """Captures and times the graphs of these axes, and keeps those that win and agree with eager.

        Units of other axes run eagerly. histogram: how often to expect batches of each number of tokens, by path and
        axis; by default what this manager has seen, and before that full batches with any remainder. It matters where
        budgets are "auto"; calling this again captures and chooses again. Raises GraphSettingsError for a budget that
        memory_limit can never hold, if graphs are captured at all.
        """
        self._require_open()
        states = [self._state(name, axis) for name, its_axes in axes.items() for axis in its_axes]
        with working(), torch.inference_mode():
            for state in states:
                state.close()
                state.stats.left_out.pop(str(state.axis), None)
            jobs = [
                (state.store.input_bytes(size), size, state.store, state.path.name)
                for state in (states if self._capture is not None else ())
                for size in state.wanted
            ]
            for _, size, store, name in sorted(jobs, key=lambda job: (-job[0], -job[1])):
                start = time.perf_counter()
                self._add(store, size)
                self._stats[name].capture_seconds += time.perf_counter() - start
            for state in states:
                start = time.perf_counter()
                seen = (histogram or {}).get((state.path.name, state.axis), state.observed)
                choosing = self._settings.budgets_of(state.path.name) == "auto"
                state.settle(seen if choosing else None)
                self._stats[state.path.name].capture_seconds += time.perf_counter() - start

    def capture_due(self) -> bool:
        """Captures the sizes that came often enough, if settings set capture_after; returns whether any was captured.

        Call it between encodes, at any time. Graphs that do not win are dropped. Until then, and for all other sizes,
        units run eagerly. Sizes that the user lists are captured by warm_up() alone.
        """
        self._require_open()
        grown = False
        with working(), torch.inference_mode():
            for (name, _), state in self._axes.items():
                start = time.perf_counter()
                if state.grow(self._add):
                    grown = True
                    self._stats[name].capture_seconds += time.perf_counter() - start
        return grown

    def encode(self, units: Mapping[str, Sequence[Unit]]) -> dict[str, list[EncodedUnit]]:
        """Returns each path's outputs, in the order of its units; none for a path without units.

        A batch that does not fit into memory runs eagerly in halves. Raises UnitError for a unit that does not fit
        its path, ManagerClosedError after close(), torch.OutOfMemoryError if one unit does not fit into memory.
        """
        self._require_open()
        for name, its_units in units.items():
            if name not in self._paths:
                raise UnitError(f"there is no path {name}, only {', '.join(self._paths)}")
            check_units(self._paths[name], its_units, self._templates[name])
        if self._settings.graphs == "on":
            new = {
                name: [axis for axis in by_axis(units[name]) if (name, axis) not in self._axes]
                for name in units
            }
            self.warm_up(new)
        done: dict[str, dict[int, EncodedUnit]] = {}
        replayed: list[Replayed] = []
        with working(), torch.inference_mode():
            for name, its_units in units.items():
                done[name] = self._launch(name, its_units, replayed)
            for entry in not_finite(replayed):
                path = entry.graphs.path
                chosen = [units[path.name][index] for index in entry.members]
                outputs = self._guard.retry(entry.graphs, entry.graph, chosen)
                done[path.name].update(_finished(path, entry.members, chosen, outputs, "eager"))
        for name, its_done in done.items():
            uses, stats = [unit.use for unit in its_done.values()], self._stats[name]
            stats.hits += uses.count("hit")
            stats.misses += uses.count("miss")
            stats.eager += uses.count("eager")
        return {name: [done[name][index] for index in range(len(units[name]))] for name in units}

    def stats(self) -> dict[str, PathStats]:
        """Returns each path's counts so far; after close(), as they were then."""
        for name, stats in () if self._closed else self._stats.items():
            states = [state for (path, _), state in self._axes.items() if path == name]
            stats.graph_bytes = sum(state.store.num_bytes for state in states)
            stats.budgets = {str(state.axis): state.sizes for state in states}
        return self._stats

    def go_eager(self) -> None:
        """Frees all graphs and captures no more: everything runs eagerly from now on. The counts go on."""
        states = list(self._axes.values())
        self._axes.clear()
        self._capture = None
        self._settings = replace(self._settings, graphs="off", memory_limit=None)
        with working():
            for state in states:
                state.close()

    def close(self) -> None:
        """Frees all graphs and buffers. A closed manager still returns its statistics; closing twice is harmless."""
        if not self._closed:
            self.stats()
            with working():
                for state in self._axes.values():
                    state.close()
            self._axes.clear()
            if self._staging is not None:
                self._staging.close()
            self._closed = True

    def _launch(self, name: str, units: Sequence[Unit], replayed: list[Replayed]) -> dict[int, EncodedUnit]:
        """Launches all batches of a path; returns its units by index. Appends the replays, to be checked later."""
        path = self._paths[name]
        done: dict[int, EncodedUnit] = {}
        most = max((unit.items for unit in units), default=0)
        if most > path.max_items and self._capture is not None:
            self._guard.oversize(name, most, path.max_items)
        for axis, indices in by_axis(units).items():
            state = self._state(name, axis)
            for batch in state.plan([units[index] for index in indices]):
                members = [indices[index] for index in batch.indices]
                chosen = [units[index] for index in members]
                outputs, graph, use = self._run(state, chosen)
                if graph is not None:
                    entry = Replayed(graphs=state, graph=graph, members=members, checksum=checksum(outputs))
                    replayed.append(entry)
                done.update(_finished(path, members, chosen, outputs, use))
        return done

    def _run(self, state: AxisGraphs, units: Sequence[Unit]) -> tuple[Tensors, Graph | None, Use]:
        """Runs one batch; returns its outputs, the graph if it was replayed, and the use."""
        stats = state.stats
        graph, use = state.pick(units)
        outputs: Tensors = {}
        if graph is not None:
            try:
                outputs = state.runner.replay(graph, units)
            except torch.OutOfMemoryError:  # no room for its outputs: there may be for half as many
                graph, use = None, "eager"
            except Exception as error:
                self._guard.failed(state, graph, error)
                graph, use = None, "eager"
        if graph is None:
            outputs = state.runner.eager(units)
            stats.eager_batches += 1
            return outputs, None, use
        tokens = sum(unit.tokens for unit in units)
        stats.replays += 1
        stats.replayed_tokens += tokens
        stats.padding_tokens += graph.tokens - tokens
        expected = self._guard.sample(state, graph, units, outputs)
        if expected is not None:
            return expected, None, "eager"
        return outputs, graph, "hit"

    def _state(self, name: str, axis: Hashable) -> AxisGraphs:
        key = (name, axis)
        if key not in self._axes:
            path = self._paths[name]
            chosen = self._budgets.get(name)
            wanted = wanted_sizes(path, axis, self._settings, chosen)
            on_demand = chosen is None and self._settings.graphs == "auto"
            self._axes[key] = AxisGraphs(
                path,
                axis,
                wanted,
                self._settings if on_demand else replace(self._settings, capture_after=None),
                self._device,
                self._capture,
                self._stats[name],
                self._staging,
            )
        return self._axes[key]

    def _add(self, store: GraphStore, size: int) -> None:
        """Captures a graph, if memory_limit allows it.

        The memory of a graph that is left out comes back only when all graphs are freed: they are captured again then.
        """
        added = store.add(size, self._room())
        stores = [state.store for state in self._axes.values()]
        if (num := sum(len(its.graphs) for its in stores)) > _MANY:
            self._guard.many(store.path.name, num)
        if added or (self._room() or 0) >= 0:
            return
        freed = [(its, kept) for its in stores for kept in its.graphs]
        for its, kept in freed:
            its.drop(kept)
        for its, kept in sorted(freed, key=lambda entry: (-entry[0].input_bytes(entry[1]), -entry[1])):
            its.add(kept, self._room())

    def _room(self) -> int | None:
        """Returns the bytes that memory_limit leaves, None for no limit."""
        if self._settings.memory_limit is None or self._capture is None:
            return None
        held = self._capture.pool_bytes + sum(state.store.buffer_bytes for state in self._axes.values())
        return self._settings.memory_limit - held

    def _require_open(self) -> None:
        if self._closed:
            raise ManagerClosedError("this encoder graph manager was closed: make a new one")


def _finished(
    path: GraphPath, members: Sequence[int], units: Sequence[Unit], outputs: Tensors, use: Use
) -> dict[int, EncodedUnit]:
    """Returns each member's own rows, by its index."""
    parts = path.split(outputs, units)
    return {index: EncodedUnit(outputs=part, use=use) for index, part in zip(members, parts, strict=True)}
