"""Budgets that follow what was observed."""

import pytest

from encoders.graphs.budgets import assumed
from encoders.graphs.buffers import StaticBuffers
from encoders.graphs.capture import Graph, Run
from encoders.graphs.errors import ManagerClosedError
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.path import GraphPath
from encoders.graphs.settings import GraphSettings
from tests.encoders.graphs.test_manager import assert_as_alone
from tests.encoders.graphs.toys import CPU, Clock, ToyCapture, ViewPath


class Counting(ToyCapture):
    """Remembers what was captured, and counts what was timed."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.captured: list[int] = []
        self.timed = 0

    def capture(self, path: GraphPath, axis: object, tokens: int, buffers: StaticBuffers) -> Graph:
        self.captured.append(tokens)
        return super().capture(path, axis, tokens, buffers)

    def measure(self, run: Run, repeats: int) -> float:
        self.timed += 1
        return super().measure(run, repeats)


def adaptive(path: ViewPath, **settings: object) -> tuple[EncoderGraphManager, Counting]:
    capture = Counting(path.clock)
    chosen = GraphSettings(max_items=8, max_graphs=2, repeats=1, **{"budgets": "auto", **settings})  # type: ignore[arg-type]
    manager = EncoderGraphManager([path], chosen, CPU, capture)
    manager.warm_up({"global": [8]})
    capture.captured.clear()
    capture.timed = 0
    return manager, capture


def encode(manager: EncoderGraphManager, path: ViewPath, count: int) -> None:
    units = [path.unit(8, seed) for seed in range(count)]
    assert_as_alone(path, units, manager.encode({"global": units})["global"])


def sizes(manager: EncoderGraphManager) -> list[int]:
    return manager.stats()["global"].budgets["8"]


def test_full_batches_and_any_remainder_are_expected() -> None:
    assert assumed(16, 64) == {16: 1, 32: 1, 48: 1, 64: 3}
    assert assumed(16, 16) == {16: 1}


def test_sizes_follow_what_is_observed() -> None:
    path = ViewPath(clock=Clock(launch=0.5, per_token=0.01))
    manager, capture = adaptive(path)
    assert sizes(manager) == [64, 128]
    for _ in range(3):
        encode(manager, path, 11)
    manager.adapt()
    assert sizes(manager) == [48, 128]
    assert capture.captured == [48], "128 was there"
    assert capture.timed == 1, "a replay of 48 tokens; all else is known"
    encode(manager, path, 11)
    assert manager.stats()["global"].parity_failures == 0
    for _ in range(30):
        encode(manager, path, 1)
    manager.adapt()
    assert sizes(manager) == [16, 128]
    assert manager.stats()["global"].capture_seconds > 0


def test_nothing_happens_where_nothing_would_be_better() -> None:
    path = ViewPath()
    manager, capture = adaptive(path)
    before = path.clock.forwards
    manager.adapt()
    assert sizes(manager) == [64, 128], "nothing was observed"
    for _ in range(5):
        encode(manager, path, 12)
        forwards = path.clock.forwards
        manager.adapt()
        assert path.clock.forwards == forwards
    assert sizes(manager) == [64, 128]
    assert (capture.captured, capture.timed) == ([], 0)
    assert path.clock.forwards > before


def test_a_small_gain_is_not_worth_a_capture() -> None:
    path = ViewPath(clock=Clock(launch=10.0, per_token=0.001))
    manager, capture = adaptive(path)
    kept = sizes(manager)
    for _ in range(5):
        encode(manager, path, 3)
    manager.adapt()
    assert sizes(manager) == kept
    assert capture.captured == []


def test_only_automatic_budgets_adapt() -> None:
    path = ViewPath()
    manager, capture = adaptive(path, budgets={"global": [64, 128]})
    for _ in range(5):
        encode(manager, path, 3)
    manager.adapt()
    assert sizes(manager) == [64, 128]
    assert capture.captured == []


def test_without_graphs_or_open_manager() -> None:
    path = ViewPath()
    manager = EncoderGraphManager([path], GraphSettings(budgets="auto"), CPU)
    manager.warm_up({"global": [8]})
    encode(manager, path, 3)
    manager.adapt()
    manager.close()
    with pytest.raises(ManagerClosedError):
        manager.adapt()


class Broken(ViewPath):
    """Wrong in replays of three views."""

    def forward(self, inputs):  # type: ignore[no-untyped-def]
        outputs = super().forward(inputs)
        if len(inputs["pixels"]) == 3 and self.clock.replaying:
            outputs["tokens"] = outputs["tokens"] * 2
        return outputs


def test_a_size_that_was_wrong_does_not_come_back() -> None:
    path = Broken(clock=Clock(launch=0.5, per_token=0.01))
    manager, capture = adaptive(path)
    assert manager.stats()["global"].parity_failures == 1
    for _ in range(9):
        encode(manager, path, 3)
    manager.adapt()
    assert 48 not in capture.captured
    assert sizes(manager) == [64, 128], "freeing one would make nothing faster"


def test_a_size_that_cannot_be_captured_again_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    path = ViewPath(clock=Clock(launch=0.5, per_token=0.01))
    manager, capture = adaptive(path)

    def fail(run: object) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr(capture, "_record", fail)
    for _ in range(3):
        encode(manager, path, 11)
        manager.adapt()
    assert sizes(manager) == [128]
    assert capture.captured == [48, 64], "each once"
    assert manager.stats()["global"].left_out == {"8": [48, 64]}
