"""What happens where memory does not suffice."""

import logging

import pytest
import torch

from encoders.graphs.capture import Graph
from encoders.graphs.latency import Latencies
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.packing import Bounds, pack
from encoders.graphs.path import Tensors
from encoders.graphs.settings import GraphSettings
from tests.encoders.graphs.test_manager import assert_as_alone, manager_of
from tests.encoders.graphs.toys import CPU, SequencePath, ToyCapture, ViewPath

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
    assert "memory does not suffice" in caplog.text
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
    assert latencies.expected({4: 2, 1: 3, 9: 0}, [4]) == 2 * 1 + 3 * 1
    batches = pack([1] * 9, Bounds(max_tokens=8, max_items=8, sizes=[4]), latencies=latencies)
    assert sorted((batch.tokens, batch.size) for batch in batches) == [(1, None), (4, 4), (4, 4)]
