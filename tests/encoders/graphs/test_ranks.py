"""Units shared out over devices: outputs are those of one device, in order, and a device that fails costs none."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from encoders.graphs import ranks
from encoders.graphs.errors import UnitError
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.path import EncodedUnit, GraphPath, Unit
from encoders.graphs.ranks import RankedManager, assign
from encoders.graphs.settings import GraphSettings
from tests.encoders.graphs.eager_capture import EagerCapture, poisoned
from tests.encoders.graphs.toys import CPU, SequencePath, SlicePath, ViewPath

SETTINGS = GraphSettings(max_items=4)


def paths() -> list[GraphPath]:
    return [ViewPath(), SlicePath(), SequencePath()]


def manager(num_ranks: int, settings: GraphSettings = SETTINGS) -> RankedManager:
    """A manager over so many "devices", all of them the CPU, each with toys of its own."""
    return RankedManager(paths(), settings, CPU, [(paths(), CPU) for _ in range(num_ranks - 1)])


def units(views: int = 7, slices: int = 5, sequences: int = 6) -> dict[str, list[Unit]]:
    view, slice_, sequence = ViewPath(), SlicePath(), SequencePath()
    return {
        "global": [view.unit((8, 16)[seed % 2], seed) for seed in range(views)],
        "slices": [slice_.unit(16, (2, 3 + seed), seed) for seed in range(slices)],
        "sequences": [sequence.unit([2 + 2 * seed, 4], seed) for seed in range(sequences)],
    }


def assert_equal(found: Mapping[str, Sequence[EncodedUnit]], asked: Mapping[str, Sequence[Unit]]) -> None:
    """Asserts that each unit has the outputs that it has alone."""
    assert found.keys() == asked.keys()
    by_name = {path.name: path for path in paths()}
    for name, its in asked.items():
        for unit, ours in zip(its, found[name], strict=True):
            alone = by_name[name].forward(by_name[name].collate([unit], CPU))
            assert ours.outputs.keys() == alone.keys()
            for output, expected in alone.items():
                torch.testing.assert_close(ours.outputs[output], expected, rtol=1e-5, atol=1e-5)


@pytest.fixture
def captured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives every device graphs: eager runs on static, poisoned buffers."""

    def with_capture(
        paths: Sequence[GraphPath], settings: GraphSettings, device: torch.device, *_: object
    ) -> EncoderGraphManager:
        return EncoderGraphManager(paths, settings, device, poisoned(EagerCapture(device)))

    monkeypatch.setattr(ranks, "EncoderGraphManager", with_capture)


@pytest.mark.parametrize("num_ranks", [1, 2, 3, 12])
def test_outputs_are_those_of_one_device_in_order(num_ranks: int) -> None:
    shared, asked = manager(num_ranks), units()
    for _ in range(2):
        assert_equal(shared.encode(asked), asked)
    stats = shared.stats()
    shared.close()
    shared.close()
    assert {name: its.eager for name, its in stats.items()} == {"global": 14, "slices": 10, "sequences": 12}
    assert shared.stats()["global"].eager == 14, "also once it is closed"


@pytest.mark.usefixtures("captured")
def test_every_device_replays_graphs_of_its_own() -> None:
    shared, asked = manager(2, GraphSettings(max_items=4, graphs="on", parity_every=1)), units()
    for _ in range(2):
        found = shared.encode(asked)
        assert_equal(found, asked)
    assert {unit.use for its in found.values() for unit in its} == {"hit"}
    stats, each = shared.stats(), [manager.stats() for manager in shared.managers]
    for name, its in stats.items():
        assert its.hits == sum(one[name].hits for one in each) == 2 * len(asked[name])
        assert all(one[name].hits for one in each)
        assert its.graph_bytes == sum(one[name].graph_bytes for one in each) > 0
        assert (its.parity_failures, its.nan_traps) == (0, 0)
    shared.go_eager()
    assert_equal(shared.encode(asked), asked)
    after = shared.stats()
    assert all(after[name].hits == its.hits and after[name].graph_bytes == 0 for name, its in stats.items())
    shared.close()


@pytest.mark.usefixtures("captured")
def test_what_is_due_is_captured_on_every_device() -> None:
    shared = manager(2, GraphSettings(max_items=4, capture_after=2))
    assert not shared.capture_due()
    for _ in range(2):
        shared.encode(units())
    assert shared.capture_due()
    shared.close()


@pytest.mark.usefixtures("captured")
def test_the_memory_limit_counts_on_each_device() -> None:
    limit = 20_000
    shared = manager(2, GraphSettings(max_items=64, graphs="on", memory_limit=limit))
    shared.encode(units())
    held = [sum(stats.graph_bytes for stats in one.stats().values()) for one in shared.managers]
    assert all(0 < its <= limit for its in held)
    assert sum(held) > limit
    shared.close()


def test_fewer_units_than_devices_and_none(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    encode = EncoderGraphManager.encode

    def noted(self: EncoderGraphManager, its: Mapping[str, Sequence[Unit]]) -> dict[str, list[EncodedUnit]]:
        asked.append(sum(map(len, its.values())))
        return encode(self, its)

    monkeypatch.setattr(EncoderGraphManager, "encode", noted)
    shared = manager(3)
    for its in (units(2, 0, 0), units(1, 1, 0), units(0, 0, 0), {}):
        asked.clear()
        assert_equal(shared.encode(its), its)
        assert 0 not in asked[1:], "a further device without units is not asked"
    shared.close()


def failing(monkeypatch: pytest.MonkeyPatch, fails: Callable[[], Exception | None]) -> None:
    """Has further devices raise what `fails` returns, as long as it does."""
    encode = EncoderGraphManager.encode

    def broken(self: EncoderGraphManager, its: Mapping[str, Sequence[Unit]]) -> dict[str, list[EncodedUnit]]:
        if threading.current_thread() is not threading.main_thread() and (error := fails()) is not None:
            raise error
        return encode(self, its)

    monkeypatch.setattr(EncoderGraphManager, "encode", broken)


@pytest.mark.parametrize("num_ranks", [2, 3])
@pytest.mark.parametrize("error", [RuntimeError("CUDA error: lost"), torch.OutOfMemoryError("none left")])
def test_a_device_that_fails_costs_nothing_and_is_used_no_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, num_ranks: int, error: Exception
) -> None:
    raised: list[Exception] = []
    failing(monkeypatch, lambda: None if raised else raised.append(error) or error)  # type: ignore[func-returns-value]
    shared, asked = manager(num_ranks), units()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert_equal(shared.encode(asked), asked)
    (message,) = [entry.getMessage() for entry in caplog.records]
    assert message.startswith(
        f"cpu encodes no more: {type(error).__name__}: {error}; its part goes to the other"
    )
    assert sum(one.stats()["global"].eager > 0 for one in shared.managers) == num_ranks - 1
    assert shared.stats()["global"].eager == 3 * len(asked["global"])
    shared.close()


def test_all_further_devices_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, lambda: RuntimeError("no"))
    shared, asked = manager(4), units()
    assert_equal(shared.encode(asked), asked)
    assert not any(one.stats()["global"].eager for one in shared.managers[1:])
    shared.close()


def test_what_the_first_device_raises_is_raised_once_the_others_are_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared, asked, done = manager(2), units(), threading.Event()
    encode = EncoderGraphManager.encode

    def lacks_memory(
        self: EncoderGraphManager, its: Mapping[str, Sequence[Unit]]
    ) -> dict[str, list[EncodedUnit]]:
        if self is shared.managers[0]:
            raise torch.OutOfMemoryError("no room")
        found = encode(self, its)
        done.set()
        return found

    with monkeypatch.context() as patched:
        patched.setattr(EncoderGraphManager, "encode", lacks_memory)
        with pytest.raises(torch.OutOfMemoryError):
            shared.encode(asked)
    assert done.is_set()
    assert_equal(shared.encode(asked), asked)
    assert all(one.stats()["global"].eager for one in shared.managers), "both are still used"
    shared.close()


def test_a_unit_without_sense_is_no_device_s_fault() -> None:
    shared = manager(2)
    small, large = (ViewPath().unit(side, 0) for side in (8, 16))
    wrong = Unit(tokens=7, axis=8, inputs=small.inputs)
    with pytest.raises(UnitError):
        shared.encode({"global": [large, wrong]})
    asked = units()
    assert_equal(shared.encode(asked), asked)
    assert all(one.stats()["global"].eager for one in shared.managers)
    shared.close()


@given(sizes=st.lists(st.integers(1, 50), max_size=20), num_ranks=st.integers(1, 5))
def test_work_is_shared_out_evenly(sizes: list[int], num_ranks: int) -> None:
    shares = assign(sizes, num_ranks)
    assert len(shares) == num_ranks
    assert sorted(index for share in shares for index in share) == list(range(len(sizes)))
    assert all(share == sorted(share) for share in shares)
    loads = [sum(sizes[index] for index in share) for share in shares]
    assert max(loads) - min(loads) <= max(sizes, default=0)


def test_the_largest_is_placed_first() -> None:
    assert assign([1, 1, 1, 9, 5, 4], 2) == [[0, 2, 3], [1, 4, 5]]
    assert assign([3], 3) == [[0], [], []]
