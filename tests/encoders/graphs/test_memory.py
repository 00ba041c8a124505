"""Manager and graphs where there is not enough memory."""

import logging
from typing import Literal

import pytest
import torch

from encoders.graphs.batching import trials
from encoders.graphs.batching.packing import Bounds, Latencies, pack
from encoders.graphs.capturing.capture import Graph
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.path import Tensors
from encoders.graphs.settings import GraphSettings
from tests.encoders.graphs.test_manager import assert_as_alone, manager_of
from tests.encoders.graphs.toys import CPU, Clock, SequencePath, ToyCapture, ViewPath

INF = float("inf")


class Large(ViewPath):
    """Eager batches above `most` views do not fit into memory; replays always do."""

    most = 3

    def forward(self, inputs: Tensors) -> Tensors:
        if len(inputs["pixels"]) > self.most and not self.clock.replaying and not self.capturing:
            raise torch.OutOfMemoryError(f"{len(inputs['pixels'])} views")
        return super().forward(inputs)

    capturing = False


class WithRoom(ToyCapture):
    """Captures of a Large path have all the memory they want."""

    def capture(self, path, axis, tokens, buffers):  # type: ignore[no-untyped-def]
        path.capturing = True
        try:
            return super().capture(path, axis, tokens, buffers)
        finally:
            path.capturing = False


def test_a_batch_that_does_not_fit_runs_in_halves(caplog: pytest.LogCaptureFixture) -> None:
    path = Large()
    manager = EncoderGraphManager([path], GraphSettings(max_items=8), CPU)
    units = [path.unit(8, seed) for seed in range(16)]
    manager.warm_up({"global": [8]})  # batches of 8: 4 + 4, 2 + 2 + 2 + 2
    with caplog.at_level(logging.WARNING):
        encoded = manager.encode({"global": units})["global"]
    assert_as_alone(path, units, encoded)
    assert all(unit.use == "eager" for unit in encoded)
    stats = manager.stats()["global"]
    assert (stats.split_batches, stats.eager_batches) == (6, 2)
    assert caplog.text.count("does not fit into memory") == 1


def test_sequences_are_joined_as_they_were() -> None:
    class Long(SequencePath):
        def forward(self, inputs: Tensors) -> Tensors:
            if len(inputs["patches"]) > 12:
                raise torch.OutOfMemoryError
            return super().forward(inputs)

    path = Long()
    manager = EncoderGraphManager([path], GraphSettings(), CPU)
    units = [path.unit([length], length) for length in (2, 8, 4, 10, 6)]
    assert_as_alone(path, units, manager.encode({"sequences": units})["sequences"])
    assert manager.stats()["sequences"].split_batches > 0


def test_a_unit_that_does_not_fit_raises() -> None:
    path = Large()
    path.most = 0
    manager = EncoderGraphManager([path], GraphSettings(max_items=4), CPU)
    with pytest.raises(torch.OutOfMemoryError):
        manager.encode({"global": [path.unit(8, seed) for seed in range(4)]})
    path.most = 4
    assert manager.encode({"global": [path.unit(8, 0)]})["global"][0].use == "eager"


def test_eager_sizes_that_do_not_fit_lose_against_their_graphs(caplog: pytest.LogCaptureFixture) -> None:
    path = Large()
    path.clock.launch = 0.0  # no graph would win by its speed
    manager = EncoderGraphManager([path], GraphSettings(max_items=8), CPU, WithRoom(path.clock))
    with caplog.at_level(logging.WARNING):
        manager.warm_up({"global": [8]})
    stats = manager.stats()["global"]
    assert stats.budgets == {"8": [64, 128]}
    assert stats.parity_failures == 0, "what eager returns is known all the same"
    assert "not enough memory" in caplog.text
    split_before = stats.split_batches
    units = [path.unit(8, seed) for seed in range(10)]
    encoded = manager.encode({"global": units})["global"]
    path.most = 99
    assert_as_alone(path, units, encoded)
    assert stats.split_batches == split_before


def test_a_capture_that_does_not_fit_leaves_smaller_ones() -> None:
    path = Large()
    settings = GraphSettings(max_items=8, budgets={"global": [16, 32, 128]})
    manager = manager_of(path, settings=settings)
    manager.warm_up({"global": [8]})
    assert manager.stats()["global"].left_out == {"8": [128]}
    units = [path.unit(8, seed) for seed in range(7)]
    encoded = manager.encode({"global": units})["global"]
    assert_as_alone(path, units, encoded)
    assert manager.stats()["global"].split_batches == 0


class NoRoomToReplay(ToyCapture):
    """full: replays find no room for the copies of their outputs."""

    full = False

    def replay(self, graph: Graph) -> None:
        if self.full:
            raise torch.OutOfMemoryError
        super().replay(graph)


def test_a_replay_without_room_runs_eagerly() -> None:
    path = ViewPath()
    capture = NoRoomToReplay(path.clock)
    manager = EncoderGraphManager([path], GraphSettings(max_items=4), CPU, capture)
    manager.warm_up({"global": [8]})
    capture.full = True
    units = [path.unit(8, seed) for seed in range(4)]
    encoded = manager.encode({"global": units})["global"]
    assert_as_alone(path, units, encoded)
    assert {unit.use for unit in encoded} == {"eager"}
    capture.full = False
    encoded = manager.encode({"global": units[:3]})["global"]
    assert_as_alone(path, units[:3], encoded)
    assert {unit.use for unit in encoded} == {"hit"}
    assert manager.stats()["global"].replays == 1


def test_infinite_latencies_are_no_numbers_to_reckon_with() -> None:
    latencies = Latencies(replay={4: 1.0, 16: INF}, eager={1: 1.0, 2: 2.0, 4: INF, 8: INF})
    assert [latencies.eager_at(tokens) for tokens in (1, 2, 3, 4, 5, 8, 16)] == [
        1,
        2,
        INF,
        INF,
        INF,
        INF,
        INF,
    ]
    assert latencies.wins(4, 4)
    assert latencies.wins(4, 3)
    assert not latencies.wins(16, 16)
    assert [latencies.cost(4, 4), latencies.cost(None, 1), latencies.cost(None, 9)] == [1, 1, INF]
    batches = pack([1] * 9, Bounds(max_tokens=8, max_items=8, sizes=[4]), latencies=latencies)
    assert sorted((batch.tokens, batch.size) for batch in batches) == [(1, None), (4, 4), (4, 4)]


class Pooled(ToyCapture):
    """A memory pool as PyTorch has it: what a graph needs beyond what others left free makes it grow, and it is given
    back only when none is left.

    per_token: bytes that a capture needs, by axis. failing: axis and tokens of one that raises.
    """

    def __init__(self, clock: Clock, per_token: dict[object, int]) -> None:
        super().__init__(clock)
        self.per_token = per_token
        self.pool = 0
        self.live = 0
        self.failing: tuple[object, int] | None = None

    @property
    def pool_bytes(self) -> int:
        return self.pool

    def free_unused(self) -> None:
        self.pool = self.pool if self.live else 0

    def capture(self, path, axis, tokens, buffers):  # type: ignore[no-untyped-def]
        self.pool = max(self.pool, tokens * self.per_token[axis])
        if self.failing == (axis, tokens):
            raise OutOfResourcesError("shared memory")
        graph = super().capture(path, axis, tokens, buffers)
        self.live += 1
        return graph

    def _record(self, run):  # type: ignore[no-untyped-def]
        replay, _ = super()._record(run)

        def release() -> None:
            self.live -= 1
            self.free_unused()

        return replay, release


class OutOfResourcesError(Exception):
    """An error like Triton's, which is no RuntimeError."""


def pooled(
    limit: int, per_token: dict[object, int], **settings: object
) -> tuple[ViewPath, Pooled, EncoderGraphManager]:
    path = ViewPath()
    capture = Pooled(path.clock, per_token)
    chosen = GraphSettings(max_items=4, memory_limit=limit, **settings)  # type: ignore[arg-type]
    return path, capture, EncoderGraphManager([path], chosen, CPU, capture)


def held(manager: EncoderGraphManager, capture: Pooled) -> int:
    """Bytes of buffers and pool."""
    return capture.pool + sum(state.store.buffer_bytes for state in manager._axes.values())


def test_a_graph_that_is_too_large_beside_others_costs_no_smaller_one() -> None:
    """The graphs of 12 px fit, the largest of 8 px does not; smaller ones need no more than what is there."""
    limit = 25_000
    path, capture, manager = pooled(limit, {12: 100, 8: 400})
    manager.warm_up({"global": [12, 8]})
    stats = manager.stats()["global"]
    assert stats.left_out == {"8": [64]}
    assert stats.budgets == {"12": [36, 72, 144], "8": [16, 32]}
    assert capture.pool == 144 * 100, "what the one left out took was given back"
    assert held(manager, capture) <= limit
    assert stats.graph_bytes == held(manager, capture)
    units = [path.unit(side, seed) for seed in range(6) for side in (8, 12)]
    encoded = manager.encode({"global": units})["global"]
    assert_as_alone(path, units, encoded)
    assert {unit.use for unit in encoded} == {"hit"}
    manager.close()
    assert (capture.pool, capture.live) == (0, 0)


def test_what_adds_nothing_has_room_even_where_none_is_left() -> None:
    _, _, manager = pooled(64 * 100 + 4 * (64 + 16 * 5 * 4 + 2), {8: 100})
    manager.warm_up({"global": [8]})
    assert manager.stats()["global"].left_out == {}
    assert manager.stats()["global"].budgets == {"8": [16, 32, 64]}


def test_the_first_that_fits_is_captured_where_larger_ones_did_not() -> None:
    _, capture, manager = pooled(10_000, {8: 200})
    manager.warm_up({"global": [8]})
    assert manager.stats()["global"].left_out == {"8": [64]}
    assert manager.stats()["global"].budgets == {"8": [16, 32]}
    assert held(manager, capture) <= 10_000


def test_what_a_failed_capture_took_counts_until_it_is_given_back(caplog: pytest.LogCaptureFixture) -> None:
    """Beside others only all together give it back; no kind of error ends a warm-up."""
    _, capture, manager = pooled(25_000, {12: 100, 8: 400})
    capture.failing = (8, 64)
    manager.warm_up({"global": [12, 8]})
    assert manager.stats()["global"].left_out == {"8": [64]}
    assert manager.stats()["global"].budgets == {"12": [36, 72, 144], "8": [16, 32]}
    assert capture.pool == 144 * 100
    assert "shared memory" in caplog.text


def test_an_interrupt_is_no_failed_capture() -> None:
    class Interrupted(ToyCapture):
        def capture(self, path, axis, tokens, buffers):  # type: ignore[no-untyped-def]
            raise KeyboardInterrupt

    path = ViewPath()
    manager = EncoderGraphManager([path], GraphSettings(), CPU, Interrupted(path.clock))
    with pytest.raises(KeyboardInterrupt):
        manager.warm_up({"global": [8]})


def test_warming_up_again_counts_nothing_twice() -> None:
    _, capture, manager = pooled(60_000, {12: 100, 8: 400})
    for _ in range(3):
        manager.warm_up({"global": [12, 8]})
        assert manager.stats()["global"].left_out == {}
        assert manager.stats()["global"].graph_bytes == held(manager, capture)


def test_a_parity_check_without_memory_costs_no_replay() -> None:
    path = Large()
    path.most = 99
    settings = GraphSettings(max_items=4, budgets={"global": [64]}, parity_every=1)
    manager = manager_of(path, settings=settings)
    manager.warm_up({"global": [8]})
    path.most = 0
    units = [path.unit(8, seed) for seed in range(4)]
    encoded = manager.encode({"global": units})["global"]
    path.most = 99
    assert_as_alone(path, units, encoded)
    assert {unit.use for unit in encoded} == {"hit"}
    stats = manager.stats()["global"]
    assert (stats.skipped_checks, stats.parity_checks, stats.parity_failures) == (1, 1, 0), "one at warm-up"
    assert manager.encode({"global": units})["global"][0].use == "hit"
    assert stats.parity_checks == 2


def test_a_graph_is_kept_where_memory_does_not_suffice_to_compare_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_memory(ours: Tensors, theirs: Tensors) -> float:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(trials, "difference", no_memory)
    path = ViewPath()
    manager = manager_of(path, settings=GraphSettings(max_items=2))
    manager.warm_up({"global": [8]})
    stats = manager.stats()["global"]
    assert stats.budgets == {"8": [16, 32]}
    assert (stats.skipped_checks, stats.parity_checks) == (2, 0)
    assert "not compared with eager" in caplog.text


@pytest.mark.parametrize("graphs", ["auto", "off"])
def test_without_graphs_neither_budgets_nor_their_limit_bound_batches(graphs: Literal["auto", "off"]) -> None:
    path = ViewPath()
    settings = GraphSettings(graphs=graphs, max_items=8, budgets={"global": [16, 32]}, memory_limit=10)
    manager = EncoderGraphManager([path], settings, CPU)
    manager.warm_up({"global": [8]})
    manager.encode({"global": [path.unit(8, seed) for seed in range(16)]})
    assert manager.stats()["global"].eager_batches == 2
