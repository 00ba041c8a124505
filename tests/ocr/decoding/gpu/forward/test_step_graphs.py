"""Which sizes of steps are captured, and when."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pytest
import torch

from encoders.graphs.capturing.gate import _GATE
from ocr.decoding.gpu.forward import step_graphs
from ocr.decoding.gpu.forward.step_graphs import StepGraphs


def grown(slots: int, counts: list[int]) -> tuple[StepGraphs, list[int]]:
    """Returns what is captured while steps of this many rows follow each other."""
    made, captured = StepGraphs(slots), []
    for rows in counts:
        if (size := made.to_capture(rows)) is not None:
            made._captured[size] = None
            captured.append(size)
        fit = made.fitting(rows)
        assert fit is not None
        assert fit >= rows
    return made, captured


def test_pages_that_arrive_one_by_one_capture_few_sizes() -> None:
    _, captured = grown(256, [1, *range(1, 257, 4)])
    assert captured == [4, 32, 256]


def test_a_size_that_is_wanted_often_is_captured() -> None:
    made, captured = grown(64, [5] * step_graphs._WANTED)
    assert captured == [32]
    made, captured = grown(64, [5] * (step_graphs._WANTED + 1))
    assert captured == [32, 8]
    assert made.fitting(5) == 8
    assert made.fitting(9) == 32
    assert made.fitting(1) == 4 if 4 in made._captured else made.fitting(1) is None


def test_far_too_large_is_used_only_if_nothing_else_is_there() -> None:
    made, _ = grown(256, [200])
    assert made.fitting(3) is None
    assert made.usable(3) == 256
    assert made.to_capture(3) == 16


def test_the_last_size_is_that_of_all_slots() -> None:
    made = StepGraphs(50)
    assert [made.bucket(rows) for rows in (1, 3, 32, 33, 50)] == [1, 4, 32, 50, 50]
    assert made.to_capture(20) == 50


class FakeStream:
    device_index = 0

    def synchronize(self) -> None:
        pass


class FakeGraph:
    def reset(self) -> None:
        pass


def test_steps_are_captured_alone_and_a_failure_costs_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a device: with what torch.cuda offers replaced."""
    used: list[tuple[int, int]] = []
    numbers = itertools.count(1)

    @contextmanager
    def recording(graph: FakeGraph, *, pool: tuple[int, int], capture_error_mode: str) -> Iterator[None]:
        used.append(pool)
        yield

    monkeypatch.setattr(torch.cuda, "CUDAGraph", FakeGraph)
    monkeypatch.setattr(torch.cuda, "graph", recording)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: FakeStream())
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    monkeypatch.setattr(torch._C, "_cuda_endAllocateToPool", lambda index, pool: None, raising=False)
    made, device, ran = StepGraphs(8), torch.device("cuda"), []
    made._pool._new = lambda: (0, next(numbers))

    def step() -> None:
        ran.append(_GATE._capturing)
        if len(ran) == 9:
            raise RuntimeError("cannot be captured")

    made.capture(step, 8, device)
    made.capture(step, 4, device)
    with pytest.raises(RuntimeError, match="captured"):
        made.capture(step, 1, device)
    made.capture(step, 2, device)
    assert ran == [True] * 12
    assert used == [(0, 1), (0, 1), (0, 1), (0, 2)]
    assert 1 not in made._captured
    assert [made.usable(rows) for rows in (1, 3, 5)] == [2, 4, 8]
    assert not _GATE._capturing
