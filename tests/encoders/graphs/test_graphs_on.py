"""Graphs that are asked for are captured before they are needed, and replay whether or not that is faster."""

import pytest

from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.path import Unit
from encoders.graphs.settings import GraphSettings
from tests.encoders.graphs.test_manager import assert_as_alone
from tests.encoders.graphs.toys import CPU, Clock, SequencePath, ToyCapture, ToyPath, ViewPath

# Launches cost nothing, so that every graph loses.
SLOW = 0.0


def manager_of(path: ToyPath, **settings: object) -> EncoderGraphManager:
    return EncoderGraphManager(
        [path],
        GraphSettings(graphs="on", max_items=8, **settings),  # type: ignore[arg-type]
        CPU,
        ToyCapture(path.clock),
    )


def uses(manager: EncoderGraphManager, path: ToyPath, units: list[Unit]) -> list[str]:
    encoded = manager.encode({path.name: units})[path.name]
    assert_as_alone(path, units, encoded)
    return [unit.use for unit in encoded]


@pytest.mark.parametrize("capture_after", [None, 16])
def test_the_first_batch_is_replayed_by_a_graph_that_loses(capture_after: int | None) -> None:
    path = ViewPath(clock=Clock(launch=SLOW))
    manager = manager_of(path, capture_after=capture_after)
    assert uses(manager, path, [path.unit(8, seed) for seed in range(11)]) == ["hit"] * 11
    stats = manager.stats()["global"]
    assert stats.budgets == {"8": [16, 32, 64, 128]}
    assert (stats.replays, stats.replayed_tokens, stats.padding_tokens) == (2, 176, 16)
    assert stats.losing_graphs == 0
    assert stats.parity_checks == 4, "each is compared with eager as ever"
    assert not manager.capture_due()


def test_each_size_of_view_has_its_graphs_once_it_comes() -> None:
    path = ViewPath(clock=Clock(launch=SLOW))
    manager = manager_of(path, budgets="auto", max_graphs=1)
    manager.warm_up({"global": [8]})
    before = manager.stats()["global"].budgets["8"]
    assert before == [16, 32, 48, 64, 96, 128], "all of them, with no histogram"
    assert uses(manager, path, [path.unit(8, 0)]) == ["hit"]
    assert uses(manager, path, [path.unit(side, 1) for side in (12, 8)]) == ["hit"] * 2
    assert manager.stats()["global"].budgets["8"] == before
    assert len(manager.stats()["global"].budgets["12"]) == 6


def test_batches_are_as_large_as_the_largest_graph_that_memory_allowed() -> None:
    path = ViewPath(clock=Clock(launch=SLOW))
    manager = manager_of(path, memory_limit=2 * 64 + 2 * 16 * 4 * 5 + 2 * 2)  # two views, with their outputs
    assert uses(manager, path, [path.unit(8, seed) for seed in range(5)]) == ["hit"] * 5
    assert manager.stats()["global"].budgets == {"8": [16, 32]}
    assert manager.stats()["global"].replays == 3


def test_only_what_is_larger_than_every_graph_misses() -> None:
    path = SequencePath(clock=Clock(launch=SLOW))
    manager = manager_of(path, budgets={"sequences": [4, 8]})
    sizes = ([2], [10], [4, 2])
    assert uses(manager, path, [path.unit(list(its), 0) for its in sizes]) == ["hit", "miss", "hit"]
