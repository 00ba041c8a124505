import json
import logging
from typing import Literal

import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from encoders.graphs.capturing.buffers import StaticBuffers
from encoders.graphs.capturing.capture import Graph
from encoders.graphs.errors import GraphSettingsError, ManagerClosedError, UnitError
from encoders.graphs.manager import EncodedUnit, EncoderGraphManager
from encoders.graphs.path import GraphPath, Unit
from encoders.graphs.settings import GraphSettings
from tests.encoders.graphs.toys import CPU, SequencePath, SlicePath, ToyCapture, ToyPath, ViewPath


def manager_of(*paths: ToyPath, settings: GraphSettings | None = None) -> EncoderGraphManager:
    """A manager whose graphs win by the first path's clock."""
    for path in paths:
        path.clock = paths[0].clock
    capture = ToyCapture(paths[0].clock)
    return EncoderGraphManager(paths, settings or GraphSettings(max_items=8), CPU, capture)


def assert_as_alone(path: GraphPath, units: list[Unit], encoded: list[EncodedUnit]) -> None:
    for unit, ours in zip(units, encoded, strict=True):
        alone = path.forward(path.collate([unit], CPU))
        assert ours.outputs.keys() == alone.keys()
        for name, value in ours.outputs.items():
            assert torch.allclose(value, alone[name], atol=1e-5), name


@pytest.mark.slow
@hypothesis_settings(max_examples=20, deadline=None)
@given(
    sides=st.lists(st.sampled_from([8, 12]), max_size=20),
    tiles=st.integers(0, 20),
    lengths=st.lists(st.lists(st.sampled_from([2, 4, 6]), min_size=1, max_size=3), max_size=10),
)
def test_every_path_returns_its_units_in_order(
    sides: list[int], tiles: int, lengths: list[list[int]]
) -> None:
    pages, local, sequences = ViewPath("global"), ViewPath("local"), SequencePath()
    manager = manager_of(pages, local, sequences)
    manager.warm_up({"global": [8, 12], "local": [8], "sequences": ["any"]})
    units = {
        "global": [pages.unit(side, seed) for seed, side in enumerate(sides)],
        "local": [local.unit(8, seed) for seed in range(tiles)],
        "sequences": [sequences.unit(frames, seed) for seed, frames in enumerate(lengths)],
    }
    encoded = manager.encode(units)
    for path in (pages, local, sequences):
        assert_as_alone(path, units[path.name], encoded[path.name])
        assert all(unit.use == "hit" for unit in encoded[path.name])
    stats = manager.stats()
    assert stats["local"].hits == tiles
    assert stats["local"].hit_rate == (1 if tiles else 0)
    json.dumps({name: its.as_dict() for name, its in stats.items()})


def test_units_are_pooled_and_the_padding_counted() -> None:
    path = ViewPath()
    manager = manager_of(path)
    manager.warm_up({"global": [8]})
    manager.encode({"global": [path.unit(8, seed) for seed in range(23)]})
    stats = manager.stats()["global"]
    assert stats.budgets == {"8": [16, 32, 64, 128]}
    assert (stats.hits, stats.replays) == (23, 3), "hits are units, not replays"
    assert (stats.replayed_tokens, stats.padding_tokens) == (23 * 16, 16)
    assert stats.padding_share == pytest.approx(1 / 24)
    assert stats.graph_bytes == 8 * 64 + 8 * 16 * 5 * 4 + 8 * 2
    assert stats.capture_seconds > 0


def test_what_is_returned_is_a_copy() -> None:
    path = ViewPath()
    manager = manager_of(path)
    manager.warm_up({"global": [8]})
    first = manager.encode({"global": [path.unit(8, 0)]})["global"]
    kept = {name: value.clone() for name, value in first[0].outputs.items()}
    second = manager.encode({"global": [path.unit(8, 1)]})[
        "global"
    ]  # poisons the static outputs, then writes them
    assert second[0].use == "hit"
    for name, value in first[0].outputs.items():
        assert torch.equal(value, kept[name])
    assert not torch.equal(first[0].outputs["tokens"], second[0].outputs["tokens"])


def test_a_video_is_one_hit_however_many_frames_it_has() -> None:
    path = SequencePath()
    manager = manager_of(path)
    manager.warm_up({"sequences": ["any"]})
    manager.encode({"sequences": [path.unit([2, 2, 2], 0), path.unit([4], 1)]})
    stats = manager.stats()["sequences"]
    assert (stats.hits, stats.units) == (2, 2)


def test_many_graphs_are_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    path = ViewPath()
    manager = manager_of(path, settings=GraphSettings(max_items=8))
    with caplog.at_level(logging.WARNING):
        manager.warm_up({"global": [2 * side for side in range(1, 17)]})
        assert not caplog.text, "16 axes of 4 graphs"
        manager.warm_up({"global": [34]})
        manager.warm_up({"global": [36]})
    assert caplog.text.count("65 graphs are captured, of every size for each axis of path global") == 1
    assert caplog.text.count("graphs are captured") == 1


def test_a_path_without_units_does_nothing() -> None:
    pages, local = ViewPath("global"), ViewPath("local")
    manager = manager_of(pages, local)
    manager.warm_up({"global": [8], "local": [8]})
    before = pages.clock.forwards
    assert manager.encode({"global": [], "local": []}) == {"global": [], "local": []}
    assert pages.clock.forwards == before
    assert manager.encode({}) == {}


def test_one_path_hits_while_the_other_misses() -> None:
    pages, local = ViewPath("global"), ViewPath("local")
    manager = manager_of(pages, local)
    manager.warm_up({"global": [8], "local": [8]})
    units = {"global": [pages.unit(8, 0)], "local": [local.unit(12, 0)]}  # 12: an axis that was not warmed up
    encoded = manager.encode(units)
    assert encoded["global"][0].use == "hit"
    assert encoded["local"][0].use == "miss"
    assert_as_alone(local, units["local"], encoded["local"])


def test_an_oversize_unit_goes_alone_and_eagerly() -> None:
    path = SequencePath(most=16)
    manager = manager_of(path)
    manager.warm_up({"sequences": ["any"]})
    units = [path.unit([8], 0), path.unit([20], 1), path.unit([8], 2)]
    encoded = manager.encode({"sequences": units})["sequences"]
    assert [unit.use for unit in encoded] == ["hit", "miss", "hit"]
    assert_as_alone(path, units, encoded)


def test_without_a_capture_the_plan_is_the_same() -> None:
    path = ViewPath()
    for manager in (
        EncoderGraphManager([path], GraphSettings(max_items=8), CPU),
        manager_of(path, settings=GraphSettings(max_items=8, graphs="off")),
    ):
        manager.warm_up({"global": [8]})
        units = [path.unit(8, seed) for seed in range(19)]
        encoded = manager.encode({"global": units})["global"]
        assert_as_alone(path, units, encoded)
        stats = manager.stats()["global"]
        assert (stats.eager, stats.hits, stats.misses) == (19, 0, 0)
        assert (stats.eager_batches, stats.replays) == (3, 0)


def test_slices_under_a_cap_of_the_patch_grid() -> None:
    path = SlicePath()
    manager = manager_of(path)
    manager.warm_up({"slices": [12, 24]})
    grids = [(12, (3, 4)), (24, (4, 6)), (12, (1, 2)), (12, (2, 5)), (24, (5, 4))]
    units = [path.unit(cap, grid, seed) for seed, (cap, grid) in enumerate(grids)]
    encoded = manager.encode({"slices": units})["slices"]
    assert_as_alone(path, units, encoded)


def test_closed_is_closed() -> None:
    path = ViewPath()
    manager = manager_of(path)
    manager.warm_up({"global": [8]})
    manager.encode({"global": [path.unit(8, 0)]})
    manager.close()
    manager.close()
    for use in (lambda: manager.encode({}), lambda: manager.warm_up({})):
        with pytest.raises(ManagerClosedError, match="make a new one"):
            use()
    assert manager.stats()["global"].hits == 1
    assert manager.stats()["global"].budgets == {"8": [16, 32, 64, 128]}


class Ordered(ToyCapture):
    """Remembers what was captured, in order."""

    def capture(self, path: GraphPath, axis: object, tokens: int, buffers: StaticBuffers) -> Graph:
        captured.append((path.name, axis, tokens))
        return super().capture(path, axis, tokens, buffers)


captured: list[tuple[str, object, int]] = []


def test_the_largest_is_captured_first() -> None:
    captured.clear()
    path = ViewPath()
    settings = GraphSettings(max_items=4)
    manager = EncoderGraphManager([path], settings, CPU, Ordered(path.clock))
    manager.warm_up({"global": [8, 12]})
    assert captured == [
        ("global", axis, tokens)
        for axis, tokens in [(12, 144), (12, 72), (8, 64), (12, 36), (8, 32), (8, 16)]
    ]


def test_nonsense_is_refused_before_anything_runs() -> None:
    path = ViewPath()
    for budgets, remedy in (({"global": [24]}, "nearest"), ({"tiles": [16]}, "global")):
        with pytest.raises(GraphSettingsError, match=remedy):
            manager_of(path, settings=GraphSettings(budgets=budgets))
    with pytest.raises(GraphSettingsError, match="memory_limit"):
        manager_of(path, settings=GraphSettings(budgets={"global": [16, 64]}, memory_limit=100)).warm_up(
            {"global": [8]}
        )
    with pytest.raises(GraphSettingsError, match="one name"):
        manager_of(path, ViewPath())
    with pytest.raises(UnitError, match="no path tiles"):
        manager_of(path).encode({"tiles": []})


def test_graphs_stop_at_the_memory_limit(caplog: pytest.LogCaptureFixture) -> None:
    path = ViewPath()
    per_unit = 64 + 16 * 5 * 4 + 2
    settings = GraphSettings(max_items=8, memory_limit=5 * per_unit)
    manager = manager_of(path, settings=settings)
    with caplog.at_level(logging.WARNING):
        manager.warm_up({"global": [8]})
    stats = manager.stats()["global"]
    assert stats.budgets == {"8": [16, 32, 64]}
    assert stats.left_out == {"8": [128]}
    assert stats.graph_bytes == 4 * per_unit
    assert "not captured" in caplog.text
    manager.warm_up({"global": [8]})
    assert manager.stats()["global"].left_out == {"8": [128]}
    units = [path.unit(8, seed) for seed in range(7)]
    assert_as_alone(path, units, manager.encode({"global": units})["global"])


def test_where_no_graph_wins_units_are_not_cut_up() -> None:
    path = ViewPath()
    manager = EncoderGraphManager([path], GraphSettings(max_items=8, repeats=1), CPU, ToyCapture(path.clock))
    manager.warm_up({"global": [8]})
    # As measurements vary, a view alone may look cheaper than an eighth of eight.
    latencies = manager._axes["global", 8]._trials.latencies
    latencies.eager = {tokens: tokens * (1.0 if tokens == 16 else 1.1) for tokens in latencies.eager}
    latencies.replay = dict.fromkeys(latencies.replay, 1e9)
    units = [path.unit(8, seed) for seed in range(8)]
    assert_as_alone(path, units, manager.encode({"global": units})["global"])
    assert manager.stats()["global"].eager_batches == 1


@pytest.mark.parametrize("budgets", ["auto", {"global": "auto"}])
def test_sizes_are_chosen_from_what_was_seen(budgets: Literal["auto"]) -> None:
    path = ViewPath()
    settings = GraphSettings(max_items=8, budgets=budgets, max_graphs=2)
    manager = manager_of(path, settings=settings)
    manager.warm_up({"global": [8]})
    assert manager.stats()["global"].budgets == {"8": [64, 128]}, "full batches and any remainder"
    for _ in range(3):
        manager.encode({"global": [path.unit(8, seed) for seed in range(11)]})
    manager.warm_up({"global": [8]})
    assert manager.stats()["global"].budgets == {"8": [48, 128]}
    manager.warm_up({"global": [8]}, histogram={("global", 8): {16: 5}})
    assert manager.stats()["global"].budgets == {"8": [16]}
