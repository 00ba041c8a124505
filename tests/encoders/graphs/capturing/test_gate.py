"""Threads at work and threads that capture, kept apart."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from encoders.graphs.capturing.buffers import StaticBuffers
from encoders.graphs.capturing.gate import _GATE, Gate
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.path import Tensors
from encoders.graphs.settings import GraphSettings
from tests.effort import effort
from tests.encoders.graphs.toys import CPU, ToyCapture, ViewPath

# Seconds: what ought to happen happens long before, what must not happen is waited for so long.
SOON, NEVER = 10.0, 0.05


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    started = ThreadPoolExecutor(16)
    yield started
    started.shutdown(wait=False, cancel_futures=True)


class Holder:
    """A thread that is within working() or capturing() until it is let go."""

    def __init__(self, threads: ThreadPoolExecutor, enter: Callable[[], object]) -> None:
        self.inside, self._go = threading.Event(), threading.Event()
        self._enter = enter
        self._done = threads.submit(self._run)

    def _run(self) -> None:
        with self._enter():  # type: ignore[attr-defined]
            self.inside.set()
            assert self._go.wait(SOON)

    def waits(self) -> bool:
        return not self.inside.wait(NEVER)

    def goes(self) -> bool:
        return self.inside.wait(SOON)

    def leave(self) -> None:
        self._go.set()
        self._done.result(SOON)


def capturers_waiting(gate: Gate, count: int) -> None:
    """Returns once so many threads wait to capture."""
    until = time.monotonic() + SOON
    while len(gate._capturers) != count:
        assert time.monotonic() < until
        time.sleep(0.001)


def is_free(gate: Gate, threads: ThreadPoolExecutor) -> bool:
    """Returns whether another thread may capture, and whether one may work, at once."""

    def run() -> bool:
        with gate.capturing():
            pass
        with gate.working():
            return gate._num_working == 1

    return bool(threads.submit(run).result(SOON))


def test_threads_work_at_once(gate: Gate, threads: ThreadPoolExecutor) -> None:
    holders = [Holder(threads, gate.working) for _ in range(3)]
    assert all(holder.goes() for holder in holders)
    for holder in holders:
        holder.leave()
    assert is_free(gate, threads)


def test_a_capture_waits_for_those_at_work(gate: Gate, threads: ThreadPoolExecutor) -> None:
    workers = [Holder(threads, gate.working) for _ in range(2)]
    assert all(worker.goes() for worker in workers)
    capturer = Holder(threads, gate.capturing)
    assert capturer.waits()
    workers[0].leave()
    assert capturer.waits()
    workers[1].leave()
    assert capturer.goes()
    capturer.leave()


def test_nobody_works_or_captures_beside_a_capture(gate: Gate, threads: ThreadPoolExecutor) -> None:
    first = Holder(threads, gate.capturing)
    assert first.goes()
    worker, second = Holder(threads, gate.working), Holder(threads, gate.capturing)
    assert worker.waits()
    assert second.waits()
    first.leave()
    assert worker.goes(), "who has waited works before the next capture"
    assert second.waits()
    worker.leave()
    assert second.goes()
    second.leave()
    assert is_free(gate, threads)


def test_who_comes_later_waits_for_a_capture_that_waits(gate: Gate, threads: ThreadPoolExecutor) -> None:
    worker = Holder(threads, gate.working)
    assert worker.goes()
    capturer = Holder(threads, gate.capturing)
    capturers_waiting(gate, 1)
    late = Holder(threads, gate.working)
    assert late.waits()
    worker.leave()
    assert capturer.goes()
    assert late.waits()
    capturer.leave()
    assert late.goes()
    late.leave()


def test_working_may_be_nested_while_a_capture_waits(gate: Gate, threads: ThreadPoolExecutor) -> None:
    with gate.working():
        capturer = Holder(threads, gate.capturing)
        capturers_waiting(gate, 1)
        with gate.working(), gate.working():
            assert capturer.waits()
        assert capturer.waits(), "the inner ones give nothing up"
    assert capturer.goes()
    capturer.leave()


def test_a_capture_takes_back_the_work_that_it_is_part_of(gate: Gate, threads: ThreadPoolExecutor) -> None:
    with gate.working(), gate.working():
        with gate.capturing(), gate.capturing(), gate.working():
            worker = Holder(threads, gate.working)
            assert worker.waits()
        assert worker.goes()
        capturer = Holder(threads, gate.capturing)
        worker.leave()
        assert capturer.waits(), "this thread is at work again"
    assert capturer.goes()
    capturer.leave()
    assert is_free(gate, threads)


def test_nobody_is_left_waiting_and_captures_are_alone(gate: Gate, threads: ThreadPoolExecutor) -> None:
    lock = threading.Lock()
    at_work = captures = 0
    wrong: list[tuple[int, int]] = []

    def note(workers: int, capturers: int) -> None:
        nonlocal at_work, captures
        with lock:
            at_work, captures = at_work + workers, captures + capturers
            if captures > 1 or (captures and at_work):
                wrong.append((at_work, captures))

    def run(seed: int) -> None:
        for turn in range(60):
            with gate.working():
                note(1, 0)
                if (seed + turn) % 5 == 0:
                    note(-1, 0)
                    with gate.capturing():
                        note(0, 1)
                        time.sleep(0)
                        note(0, -1)
                    note(1, 0)
                note(-1, 0)

    for future in [threads.submit(run, seed) for seed in range(6)]:
        future.result(SOON)
    assert wrong == []
    assert is_free(gate, threads)


def test_captures_in_a_row_leave_room_for_work_and_the_other_way_round(
    gate: Gate, threads: ThreadPoolExecutor
) -> None:
    over = threading.Event()
    counts = {"worked": 0, "captured": 0}

    def go_on(enter: Callable[[], object], what: str) -> None:
        while not over.is_set():
            with enter():  # type: ignore[attr-defined]
                counts[what] += 1

    loops = [
        threads.submit(go_on, gate.working, "worked"),
        threads.submit(go_on, gate.working, "worked"),
        threads.submit(go_on, gate.capturing, "captured"),
    ]
    until = time.monotonic() + SOON
    while min(counts.values()) < 50 and time.monotonic() < until:
        time.sleep(0.005)
    over.set()
    for loop in loops:
        loop.result(SOON)
    assert min(counts.values()) >= 50


@pytest.mark.parametrize("nested", [False, True])
def test_an_exception_gives_everything_up(gate: Gate, threads: ThreadPoolExecutor, nested: bool) -> None:
    with pytest.raises(ValueError, match="capture"), gate.working(), gate.working(), gate.capturing():
        raise ValueError("capture")
    assert is_free(gate, threads)
    outer = gate.capturing() if nested else gate.working()
    with pytest.raises(ValueError, match="work"), outer, gate.working():
        raise ValueError("work")
    assert is_free(gate, threads)
    with gate.working():
        pass
    with gate.capturing():
        pass


def interrupted(_: Callable[[], bool]) -> bool:
    raise KeyboardInterrupt


def captured_at_work(gate: Gate) -> None:
    with gate.working(), gate.capturing():
        pytest.fail("nobody waited")


def worked(gate: Gate) -> None:
    with gate.working():
        pytest.fail("nobody waited")


def test_a_capture_that_is_interrupted_before_it_begins_holds_nobody_up(
    gate: Gate, threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Holder(threads, gate.working)
    assert worker.goes()
    with monkeypatch.context() as patch:
        patch.setattr(gate._changed, "wait_for", interrupted)
        with pytest.raises(KeyboardInterrupt):
            captured_at_work(gate)
    late = Holder(threads, gate.working)
    assert late.goes()
    late.leave()
    worker.leave()
    assert is_free(gate, threads)


def test_work_that_is_interrupted_before_it_begins_holds_nobody_up(
    gate: Gate, threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    capturer = Holder(threads, gate.capturing)
    assert capturer.goes()
    with monkeypatch.context() as patch:
        patch.setattr(gate._changed, "wait_for", interrupted)
        with pytest.raises(KeyboardInterrupt):
            worked(gate)
    capturer.leave()
    assert is_free(gate, threads)


class Looking(ViewPath):
    """Notes whether somebody captures, and how many work, while it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[bool, int]] = []

    def forward(self, inputs: Tensors) -> Tensors:
        self.seen.append((_GATE._capturing, _GATE._num_working))
        return super().forward(inputs)


def test_graphs_are_captured_alone_and_all_else_is_work() -> None:
    path = Looking()
    capture = ToyCapture(path.clock)
    capture.capture(path, 8, 64, StaticBuffers(path, 8, 64, CPU))
    assert set(path.seen) == {(True, 0)}
    path.seen.clear()
    manager = EncoderGraphManager([path], GraphSettings(max_items=2, repeats=1), CPU, capture)
    manager.warm_up({"global": [8]})
    assert set(path.seen) == {(True, 0), (False, 1)}, "captured and tried"
    path.seen.clear()
    manager.encode({"global": [path.unit(8, 0)]})
    assert set(path.seen) == {(False, 1)}
    manager.close()
    assert (_GATE._capturing, _GATE._num_working) == (False, 0)


def test_without_a_capture_it_costs_microseconds(gate: Gate) -> None:
    def work() -> None:
        for _ in range(2000):
            with gate.working():
                pass

    assert effort(work) < 6, "about 50 us each"
