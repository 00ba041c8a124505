"""Which pool the next graph is captured into."""

import itertools

import pytest
import torch

from encoders.graphs.capturing import pools
from encoders.graphs.capturing.pools import SharedPool


class FailedGraph:
    """The remains of a failed capture. refuses: the allocators complain."""

    def __init__(self, *, refuses: bool) -> None:
        self.refuses, self.num_resets = refuses, 0

    def reset(self) -> None:
        self.num_resets += 1
        if self.refuses:
            raise RuntimeError("an error of the capture")


@pytest.fixture
def pool() -> SharedPool:
    numbers = itertools.count(1)
    return SharedPool(new=lambda: (0, next(numbers)))


def test_graphs_share_a_pool_while_one_of_them_is_left(pool: SharedPool) -> None:
    for _ in range(3):
        assert pool.handle() == (0, 1)
        pool.captured((0, 1))
    pool.released((0, 1))
    pool.released((0, 1))
    assert pool.handle() == (0, 1)


def test_the_last_graph_takes_its_pool_along(pool: SharedPool) -> None:
    for number in (1, 2, 3):
        assert pool.handle() == (0, number)
        pool.captured((0, number))
        pool.released((0, number))
    assert pool.handles == {(0, 1), (0, 2), (0, 3)}, "their memory may not be given back yet"


@pytest.mark.parametrize("refuses", [False, True])
def test_a_failed_capture_is_not_captured_beside(
    pool: SharedPool, refuses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[object] = []
    ended: list[tuple[int, tuple[int, int]]] = []

    def end(device_index: int, handle: tuple[int, int]) -> None:
        ended.append((device_index, handle))
        if refuses:
            raise RuntimeError("not currently recording")

    monkeypatch.setattr(pools, "_FAILED", kept)
    monkeypatch.setattr(torch._C, "_cuda_endAllocateToPool", end, raising=False)
    graph = FailedGraph(refuses=refuses)
    before = pool.handle()
    pool.captured(before)
    pool.failed(before, graph, 3)  # type: ignore[arg-type]
    after = pool.handle()
    assert after != before
    assert kept == [graph]
    assert ended == [(3, before)]
    assert graph.num_resets == 1
    pool.captured(after)
    pool.released(before)
    assert pool.handle() == after, "the old one's last graph is no matter of the new one's"
