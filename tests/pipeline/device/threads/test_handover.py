"""A queue between threads: in order, within its bytes, and nobody waits for what will not come."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.device.threads.handover import Handover

WAIT_S = 60.0


def started(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Runs it in a thread; what it returned is in the list then."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    return thread, results


def ends(thread: threading.Thread) -> bool:
    thread.join(WAIT_S)
    return not thread.is_alive()


def filled(*items: str, max_bytes: int | None = None) -> Handover[str]:
    queue: Handover[str] = Handover(max_bytes)
    for item in items:
        queue.put(item, 1)
    return queue


class Watched(Handover[int]):
    """Remembers the most bytes, and how many items, it ever held at once."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self.most: list[tuple[int, int]] = []

    def put(self, item: int, num_bytes: int) -> None:
        super().put(item, num_bytes)
        with self._changed:
            self.most.append((self._held_bytes, len(self._items)))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 60), max_size=40), st.integers(1, 100), st.integers(1, 5))
def test_items_come_in_order_and_only_a_first_one_exceeds_the_bound(
    sizes: list[int], max_bytes: int, most: int
) -> None:
    queue = Watched(max_bytes)

    def put_all() -> None:
        for number, size in enumerate(sizes):
            queue.put(number, size)
        queue.finish()

    thread, _ = started(put_all)
    taken: list[int] = []
    while not queue.is_over:
        some = queue.take(most, timeout_s=WAIT_S)
        assert len(some) <= most
        taken += some
    assert ends(thread)
    assert taken == list(range(len(sizes)))
    assert all(held <= max_bytes or count == 1 for held, count in queue.most)


def test_put_waits_for_room_and_goes_on_when_there_is_some() -> None:
    queue = filled("a", max_bytes=2)
    thread, _ = started(lambda: queue.put("b", 2))
    time.sleep(0.05)
    assert len(queue) == 1
    assert queue.take(1) == ["a"]
    assert ends(thread)
    assert queue.take(1) == ["b"]


def test_at_least_so_many_are_waited_for() -> None:
    queue = filled("a")
    thread, taken = started(lambda: queue.take(3, at_least=2))
    time.sleep(0.05)
    assert thread.is_alive()
    assert len(queue) == 1
    queue.put("b", 1)
    assert ends(thread)
    assert taken == [["a", "b"]]


def test_nothing_comes_of_an_empty_queue_in_time() -> None:
    queue = filled()
    began = time.monotonic()
    assert queue.take(1, timeout_s=0) == []
    assert queue.take(1, timeout_s=0.05) == []
    assert 0.05 <= time.monotonic() - began < WAIT_S


def test_too_few_items_are_left_where_they_are_until_there_are_enough() -> None:
    queue = filled("a", "b")
    assert queue.take(4, at_least=3, timeout_s=0.02) == []
    queue.put("c", 1)
    assert queue.take(4, at_least=3, timeout_s=0) == ["a", "b", "c"]


def test_what_is_put_back_comes_first_whatever_the_bound() -> None:
    queue = filled("a", "b", "c", max_bytes=3)
    taken = queue.take(2)
    queue.put("d", 2)
    queue.put_back(taken)
    assert [queue.take(1) for _ in range(4)] == [["a"], ["b"], ["c"], ["d"]]
    queue.put("e", 3)
    assert queue.take(9) == ["e"]


def test_after_the_end_what_is_there_may_be_taken_and_nothing_is_added() -> None:
    queue = filled("a", "b")
    queue.finish()
    assert not queue.is_over
    queue.put("c", 1)
    assert queue.take(3, at_least=3) == ["a", "b"]
    assert queue.is_over
    assert queue.take(1) == []


def test_an_abandoned_queue_is_over_at_once() -> None:
    queue = filled("a", "b", max_bytes=2)
    queue.abandon()
    assert queue.is_over
    assert queue.take(1) == []
    queue.put("c", 9)
    assert queue.is_over


@pytest.mark.parametrize("end", [Handover.finish, Handover.abandon])
def test_an_end_wakes_everybody_who_waits(end: Callable[[Handover[str]], None]) -> None:
    empty, full = filled(), filled("a", max_bytes=1)
    takers = [started(lambda: empty.take(2, at_least=2)) for _ in range(2)]
    putters = [started(lambda: full.put("b", 1)) for _ in range(2)]
    time.sleep(0.05)
    assert all(thread.is_alive() for thread, _ in takers + putters)
    end(empty)
    end(full)
    assert all(ends(thread) for thread, _ in takers + putters)
    assert [taken for _, taken in takers] == [[[]], [[]]]
    assert len(full) == (1 if end is Handover.finish else 0)


def test_what_is_urgent_goes_before_the_rest_and_in_its_own_order() -> None:
    queue = filled("a", "b")
    queue.put("first", 1, first=True)
    queue.put("second", 1, first=True)
    assert queue.take(3) == ["first", "second", "a"]
    queue.put_back(["a"])
    queue.put("third", 1, first=True)
    queue.finish()
    assert queue.take(9) == ["a", "third", "b"], "what is put back was there before"
