"""Shares an encoder's units out over several devices of one process: data parallel, without a process group.

Every device has a copy of the paths, and a graph manager, a thread and a stream of its own. Nothing is padded to the
longest share, as copies between devices may be of any length, and a device without units is not asked at all.
"""

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from encoders.graphs.capturing.capture import Capture
from encoders.graphs.capturing.gate import working
from encoders.graphs.errors import UnitError
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.path import EncodedUnit, GraphPath, Unit
from encoders.graphs.settings import GraphSettings
from encoders.graphs.stats import PathStats

logger = logging.getLogger(__name__)

T = TypeVar("T")
# The paths of one device, with weights there, and the device.
Rank = tuple[Sequence[GraphPath], torch.device]
Encoded = dict[str, list[EncodedUnit]]


class UnitEncoder(Protocol):
    """What encodes units: a graph manager, or several."""

    def encode(self, units: Mapping[str, Sequence[Unit]]) -> Encoded:
        """Returns each path's outputs, in the order of its units."""


class RankedManager:
    """An EncoderGraphManager for each device, used as one.

    The first is the caller's: it runs in its thread, on its current stream, and all outputs come back to its device;
    whatever it raises is raised. A further one that fails is not used again, and the others encode its units. Graphs
    are captured on one device after the other, memory_limit counts on each, and statistics are of all together. Never
    call it within encoders.graphs.capturing.gate.working(), as it waits for threads that may capture.

    managers: of all devices, the first one's first. others: the further devices.
    """

    def __init__(
        self,
        paths: Sequence[GraphPath],
        settings: GraphSettings,
        device: torch.device,
        others: Sequence[Rank] = (),
        capture: Capture | None = None,
    ) -> None:
        settings = replace(settings, ranks=1 + len(others))
        self._first = EncoderGraphManager(paths, settings, device, capture)
        self._device = torch.empty(0, device=device).device  # with its number
        self._ranks = [_FurtherRank(its_paths, settings, its_device) for its_paths, its_device in others]
        self.managers = [self._first, *(rank.manager for rank in self._ranks)]

    def encode(self, units: Mapping[str, Sequence[Unit]]) -> Encoded:
        """Returns each path's outputs, in the order of its units; raises as EncoderGraphManager.encode does."""
        shares = [dict[str, list[int]]() for _ in (self._first, *self._ranks)]
        for name, its_units in units.items():
            for share, indices in zip(shares, assign(list(map(_size, its_units)), len(shares)), strict=True):
                share[name] = indices
        begun = [
            (rank, share, rank.begin(partial(_FurtherRank.encode, units=_chosen(units, share))))
            for rank, share in zip(self._ranks, shares[1:], strict=True)
            if any(share.values())
        ]
        found: dict[str, dict[int, EncodedUnit]] = {name: {} for name in units}
        try:
            _put(found, shares[0], self._first.encode(_chosen(units, shares[0])))
        finally:
            wait([future for *_, future in begun])
        lost: dict[str, list[int]] = {name: [] for name in units}
        for rank, share, future in begun:
            try:
                _put(found, share, rank.moved(future.result(), self._device))
            except Exception as error:
                has_no_room_here = isinstance(error, torch.OutOfMemoryError) and future.exception() is None
                if has_no_room_here or isinstance(error, UnitError):
                    raise
                self._give_up(rank, error)
                for name, indices in share.items():
                    lost[name] += indices
        if any(lost.values()):
            _put(found, lost, self.encode(_chosen(units, lost)))
        return {name: [its[index] for index in range(len(its))] for name, its in found.items()}

    def warm_up(
        self,
        axes: Mapping[str, Sequence[Hashable]],
        histogram: Mapping[tuple[str, Hashable], Mapping[int, int]] | None = None,
    ) -> None:
        """Captures the graphs of these axes on every device; see EncoderGraphManager.warm_up."""
        self._in_turn(lambda manager: manager.warm_up(axes, histogram))

    def capture_due(self) -> bool:
        """Captures on every device what is due there, and returns whether any was."""
        return any(self._in_turn(lambda manager: manager.capture_due()))

    def go_eager(self) -> None:
        """Frees the graphs of all devices and captures no more; see EncoderGraphManager.go_eager."""
        self._in_turn(lambda manager: manager.go_eager())

    def stats(self) -> dict[str, PathStats]:
        """Returns the counts of each path over all devices, those given up too; also after close()."""
        found, *others = (manager.stats() for manager in self.managers)
        for its in others:
            found = {name: stats.merge(its[name]) for name, stats in found.items()}
        return found

    def close(self) -> None:
        """Frees all graphs and buffers, and ends the threads. Closing twice is harmless."""
        self._in_turn(lambda manager: manager.close())
        for rank in self._ranks:
            rank.end()
        self._ranks = []

    def _in_turn(self, work: Callable[[EncoderGraphManager], T]) -> list[T]:
        """Does the work for one device after the other, each in its thread; returns what it returns."""
        further = (rank.begin(lambda rank: work(rank.manager)).result() for rank in self._ranks)
        return [work(self._first), *further]

    def _give_up(self, rank: "_FurtherRank", error: Exception) -> None:
        logger.warning(
            "%s encodes no more: %s; its part goes to the other devices, and the run goes on",
            rank.device,
            " ".join(f"{type(error).__name__}: {error}".split())[:300],
        )
        self._ranks.remove(rank)
        with suppress(RuntimeError):  # its thread could not even begin
            rank.begin(lambda rank: rank.manager.go_eager())  # whether it can free its memory or not
        rank.end()


class _FurtherRank:
    """A device besides the first: its manager, and the one thread and stream that use it."""

    def __init__(self, paths: Sequence[GraphPath], settings: GraphSettings, device: torch.device) -> None:
        self.device = device
        self.manager = EncoderGraphManager(paths, settings, device)
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        self._thread = ThreadPoolExecutor(1, f"encoder on {device}", self._enter)

    def begin(self, work: "Callable[[_FurtherRank], T]") -> Future[T]:
        """Has the thread do the work after all that was begun before."""
        return self._thread.submit(work, self)

    def end(self) -> None:
        """Ends the thread once it has done what was begun."""
        self._thread.shutdown(wait=False)

    def encode(self, units: Mapping[str, Sequence[Unit]]) -> Encoded:
        """Encodes in this thread, and waits for the device: an error of its kernels is this rank's alone."""
        encoded = self.manager.encode(units)
        if self._stream is not None:
            done = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
            done.record(self._stream)
            done.synchronize()
        return encoded

    def moved(self, encoded: Encoded, device: torch.device) -> Encoded:
        """Returns the units with their outputs on the caller's device, which its current stream orders.

        The copies run on this rank's stream, so its memory is not used anew before they are done. All outputs of one
        shape are copied as one: a copy between devices takes the host longer than a launch.
        """
        units = [unit for its in encoded.values() for unit in its]
        alike: dict[tuple[object, ...], list[tuple[int, str]]] = {}
        for place, unit in enumerate(units):
            for name, output in unit.outputs.items():
                alike.setdefault((output.dtype, output.shape[1:]), []).append((place, name))
        outputs: list[dict[str, Tensor]] = [{} for _ in units]
        stream = nullcontext() if self._stream is None else torch.cuda.stream(self._stream)
        with working(), torch.inference_mode(), stream:
            for members in alike.values():
                parts = [units[place].outputs[name] for place, name in members]
                there = torch.cat(parts).to(device, non_blocking=True)
                for (place, name), part in zip(
                    members, torch.split(there, list(map(len, parts))), strict=True
                ):
                    outputs[place][name] = part
        there_too = iter([replace(unit, outputs=its) for unit, its in zip(units, outputs, strict=True)])
        return {name: [next(there_too) for _ in its] for name, its in encoded.items()}

    def _enter(self) -> None:
        """Begins the thread."""
        if self._stream is not None:
            torch.cuda.set_device(self.device)
            torch.cuda.set_stream(self._stream)
            torch.set_num_threads(1)  # else copying pixels waits for the busiest of all CPUs


def assign(sizes: Sequence[int], ranks: int) -> list[list[int]]:
    """Returns the indices of each rank's units, ascending: the largest first, to the rank with the least so far.

    With fewer units than ranks the last ranks get none.
    """
    loads = [0] * ranks
    shares: list[list[int]] = [[] for _ in range(ranks)]
    for index in sorted(range(len(sizes)), key=lambda index: (-sizes[index], index)):
        rank = min(range(ranks), key=lambda rank: (loads[rank], len(shares[rank]), rank))
        loads[rank] += sizes[index]
        shares[rank].append(index)
    return [sorted(share) for share in shares]


def _size(unit: Unit) -> int:
    """Returns the bytes of a unit's inputs: nearly all are pixels, which its cost grows with."""
    return sum(tensor.nbytes for tensor in unit.inputs.values())


def _chosen(
    units: Mapping[str, Sequence[Unit]], indices: Mapping[str, Sequence[int]]
) -> dict[str, list[Unit]]:
    return {name: [units[name][index] for index in its] for name, its in indices.items()}


def _put(
    found: dict[str, dict[int, EncodedUnit]], share: Mapping[str, Sequence[int]], encoded: Encoded
) -> None:
    """Puts a share's outputs in their places."""
    for name, indices in share.items():
        found[name].update(zip(indices, encoded[name], strict=True))
