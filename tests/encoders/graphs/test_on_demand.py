"""Graphs that are captured only when batches of their size have come often enough."""

from collections.abc import Sequence

import pytest
import torch

from encoders.graphs.axis_graphs import due_sizes
from encoders.graphs.capturing.buffers import StaticBuffers
from encoders.graphs.capturing.capture import Graph, Run
from encoders.graphs.errors import ManagerClosedError
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.path import GraphPath, Tensors
from encoders.graphs.settings import GraphSettings
from tests.encoders.graphs.test_manager import assert_as_alone
from tests.encoders.graphs.toys import CPU, Clock, SequencePath, ToyCapture, ViewPath

AFTER = 3


class Counting(ToyCapture):
    """Remembers what was captured."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.captured: list[int] = []

    def capture(self, path: GraphPath, axis: object, tokens: int, buffers: StaticBuffers) -> Graph:
        self.captured.append(tokens)
        return super().capture(path, axis, tokens, buffers)


def on_demand(path: ViewPath, **settings: object) -> tuple[EncoderGraphManager, Counting]:
    """Views of 8 px, 16 tokens each, eight to a batch at most."""
    capture = Counting(path.clock)
    chosen = GraphSettings(max_items=8, repeats=1, capture_after=AFTER, **settings)  # type: ignore[arg-type]
    return EncoderGraphManager([path], chosen, CPU, capture), capture


def encode(manager: EncoderGraphManager, path: ViewPath, count: int) -> str:
    """Returns how this many views were all run."""
    units = [path.unit(8, seed) for seed in range(count)]
    encoded = manager.encode({"global": units})["global"]
    assert_as_alone(path, units, encoded)
    (use,) = {unit.use for unit in encoded}
    return use


def sizes(manager: EncoderGraphManager) -> list[int]:
    return manager.stats()["global"].budgets["8"]


def test_a_size_is_captured_when_it_came_often_enough_and_no_other() -> None:
    path = ViewPath()
    manager, capture = on_demand(path)
    for count in (1, 1, 3, 1):
        assert not manager.capture_due()
        assert encode(manager, path, count) == "eager"
    assert manager.capture_due()
    assert sizes(manager) == [16]
    assert capture.captured == [16]
    assert not manager.capture_due(), "that was all"
    assert [encode(manager, path, count) for count in (1, 3, 4, 8)] == ["hit", "eager", "eager", "eager"]
    assert manager.capture_due(), "three and four views are one size"
    assert sizes(manager) == [16, 64]
    assert [encode(manager, path, count) for count in (1, 3, 4, 8)] == ["hit", "hit", "hit", "eager"]
    stats = manager.stats()["global"]
    assert (stats.parity_failures, stats.nan_traps, stats.misses) == (0, 0, 0)
    assert stats.capture_seconds > 0


def test_a_larger_size_takes_the_smaller_ones_along_to_its_buffers() -> None:
    path = ViewPath()
    manager, capture = on_demand(path)
    for count in (1, 2, 8):
        for _ in range(AFTER):
            encode(manager, path, count)
        assert manager.capture_due()
    assert capture.captured == [16, 32, 16, 128, 32, 16], "buffers are the largest one's"
    assert sizes(manager) == [16, 32, 128]
    assert [encode(manager, path, count) for count in (8, 1, 2, 7)] == ["hit"] * 4
    assert manager.stats()["global"].stale_graphs == 0


def test_several_sizes_that_are_due_at_once_are_captured_once_each() -> None:
    path = ViewPath()
    manager, capture = on_demand(path)
    for count in (1, 2, 4) * AFTER:
        encode(manager, path, count)
    assert manager.capture_due()
    assert capture.captured == [64, 32, 16]


def test_large_batches_are_never_captured_and_never_cut_up_for_small_graphs() -> None:
    path = ViewPath(clock=Clock(launch=10.0, per_token=0.2))
    manager, capture = on_demand(path, due_tokens=32)
    for _ in range(AFTER):
        encode(manager, path, 1)
    manager.capture_due()
    assert sizes(manager) == [16]
    for _ in range(2 * AFTER):
        forwards = path.clock.forwards
        assert {unit.use for unit in manager.encode({"global": [path.unit(8, 0)] * 8})["global"]} == {"eager"}
        assert path.clock.forwards == forwards + 1
        assert not manager.capture_due()
    assert capture.captured == [16]


class Broken(ViewPath):
    """Wrong in replays of one view."""

    def forward(self, inputs: Tensors) -> Tensors:
        outputs = super().forward(inputs)
        if len(inputs["pixels"]) == 1 and self.clock.replaying:
            outputs["tokens"] = outputs["tokens"] * 2
        return outputs


@pytest.mark.parametrize(
    ("path", "fault"),
    [(Broken(), "parity_failures"), (ViewPath(clock=Clock(launch=0.0, per_token=1.0)), "losing_graphs")],
)
def test_a_size_that_is_wrong_or_loses_is_tried_once(path: ViewPath, fault: str) -> None:
    manager, capture = on_demand(path)
    for _ in range(4 * AFTER):
        assert encode(manager, path, 1) == "eager"
        manager.capture_due()
    assert capture.captured == [16]
    assert getattr(manager.stats()["global"], fault) == 1


def test_a_larger_size_may_follow_one_that_was_freed() -> None:
    path = Broken()
    manager, capture = on_demand(path)
    for count in (1, 4):
        for _ in range(AFTER):
            assert encode(manager, path, count) == "eager"
        manager.capture_due()
    assert capture.captured == [16, 64]
    assert sizes(manager) == [64]
    stats = manager.stats()["global"]
    assert (stats.parity_failures, stats.left_out) == (1, {})


def test_a_size_that_cannot_be_captured_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    path = ViewPath()
    manager, capture = on_demand(path)

    def fail(run: object) -> None:
        raise RuntimeError("no memory")

    monkeypatch.setattr(capture, "_record", fail)
    for _ in range(3 * AFTER):
        assert encode(manager, path, 1) == "eager"
        manager.capture_due()
    assert manager.stats()["global"].left_out == {"8": [16]}


def test_a_size_without_memory_to_try_it_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    path = ViewPath()
    manager, capture = on_demand(path)

    def full(runs: Sequence[Run], repeats: int) -> list[float]:
        raise torch.OutOfMemoryError("no room")

    for _ in range(AFTER):
        encode(manager, path, 1)
    monkeypatch.setattr(capture, "measure_in_turn", full)
    assert manager.capture_due()
    assert sizes(manager) == []
    assert encode(manager, path, 1) == "eager"
    assert not manager.capture_due()


def test_automatic_budgets_are_finer_and_few() -> None:
    path = ViewPath()
    manager, _ = on_demand(path, budgets="auto", max_graphs=2)
    for count in (3, 1, 2):
        for _ in range(AFTER):
            encode(manager, path, count)
        manager.capture_due()
    assert sizes(manager) == [16, 48]


@pytest.mark.parametrize("settings", [{"budgets": {"global": [16, 64]}}, {"graphs": "off"}])
def test_what_the_user_lists_or_forbids_is_not_captured_on_demand(settings: dict[str, object]) -> None:
    path = ViewPath()
    manager, capture = on_demand(path, **settings)
    for _ in range(2 * AFTER):
        encode(manager, path, 1)
        assert not manager.capture_due()
    assert capture.captured == []


def test_a_closed_manager_captures_nothing() -> None:
    manager, _ = on_demand(ViewPath())
    manager.close()
    with pytest.raises(ManagerClosedError):
        manager.capture_due()


def test_sequences_of_any_length_are_captured_too() -> None:
    path = SequencePath()
    settings = GraphSettings(capture_after=AFTER)
    manager = EncoderGraphManager([path], settings, CPU, Counting(path.clock))
    uses = []
    for lengths in ([4, 4], [6], [2, 4], [8], [2, 2, 4]):
        manager.capture_due()
        unit = path.unit(lengths, seed=len(lengths))
        (encoded,) = manager.encode({"sequences": [unit]})["sequences"]
        assert_as_alone(path, [unit], [encoded])
        uses.append(encoded.use)
    assert uses == ["eager"] * AFTER + ["hit"] * 2


def test_a_batch_counts_for_the_smallest_size_that_holds_it() -> None:
    settings = GraphSettings(capture_after=4, due_tokens=64)
    observed = {16: 3, 20: 2, 32: 2, 100: 50}
    assert list(due_sizes([16, 32, 64, 128], observed, set(), settings)) == [32]
    assert list(due_sizes([16, 32, 64, 128], observed | {16: 4}, set(), settings)) == [32, 16]
    assert list(due_sizes([16, 32, 64, 128], observed | {16: 4}, {32}, settings)) == [16]
    assert list(due_sizes([16], {16: 100}, set(), GraphSettings())) == []


def test_ways_that_are_compared_take_turns() -> None:
    clock = Clock()
    order: list[str] = []

    def run(name: str, seconds: float) -> None:
        order.append(name)
        clock.now += seconds

    found = Counting(clock).measure_in_turn([lambda: run("a", 1.0), lambda: run("b", 2.0)], 3)
    assert found == [1.0, 2.0]
    assert "".join(order) == "ab" * 4, "the first round does not count"
