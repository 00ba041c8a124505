"""Graphs of one thread and stream while another thread keeps the device busy; skipped without a CUDA device."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from encoders.graphs.capturing.capture import CudaGraphCapture
from encoders.graphs.capturing.gate import capturing, working
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from tests.encoders.graphs.capturing.test_capture_gpu import DeepViewPath, QuickReplays
from tests.encoders.graphs.eager_capture import poisoned

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
# About half a second of an H200.
CYCLES = 4_000_000_000  # over two seconds, as other programs may use the device meanwhile


def captured(x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.cuda.CUDAGraph, torch.Tensor]:
    """Captures like steps of the paged engine: it waits for the device and empties caches before."""
    graph = torch.cuda.CUDAGraph()
    with capturing():
        y = x @ weight
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            y = x @ weight
    return graph, y


@contextmanager
def another_thread_works() -> Iterator[list[float]]:
    """Works like a decoder: it allocates, pinned memory too, captures and replays. Yields its findings or error."""
    found: list[float] = []
    errors: list[BaseException] = []
    over = threading.Event()

    def work() -> None:
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                weight = torch.eye(512, device="cuda")
                while not over.is_set():
                    with working():
                        ones = torch.ones(512, 512).pin_memory()
                        x = torch.empty(512, 512, device="cuda").copy_(ones, non_blocking=True)
                        graph, y = captured(x, weight)
                    for _ in range(20):
                        with working():
                            graph.replay()
                            found.append(float(y.sum()))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()
    assert not errors, errors[0]


def test_sizes_are_captured_and_replayed_while_another_thread_works() -> None:
    device = torch.device("cuda")
    path = DeepViewPath(device)
    settings = GraphSettings(max_items=16, capture_after=3, parity_every=2)
    with another_thread_works() as found, torch.cuda.stream(torch.cuda.Stream()):
        manager = EncoderGraphManager([path], settings, device, poisoned(QuickReplays(device)))
        uses: dict[int, list[str]] = {}
        for count in (1, 2, 1, 4, 8) * 6:
            manager.capture_due()
            units = [path.unit(8, seed) for seed in range(count)]
            encoded = manager.encode({"global": units})["global"]
            for unit, ours in zip(units, encoded, strict=True):
                alone = path.forward(path.collate([unit], device))
                assert torch.allclose(ours.outputs["tokens"], alone["tokens"], atol=1e-5)
            uses.setdefault(count, []).append(encoded[0].use)
        stats = manager.stats()["global"]
        manager.close()
    assert set(found) == {512.0 * 512.0}
    assert (stats.parity_failures, stats.nan_traps, stats.left_out) == (0, 0, {})
    assert all(its[0] == "eager" for its in uses.values())
    assert "hit" in uses[1]
    assert stats.budgets["8"], "some graph was left in use"
    assert len(found) > 20, "the other thread captured more than once"


def test_nothing_waits_for_another_streams_work() -> None:
    device = torch.device("cuda")
    path = DeepViewPath(device)
    capture = CudaGraphCapture(device)
    manager = EncoderGraphManager([path], GraphSettings(max_items=4, capture_after=1), device, capture)
    with torch.cuda.stream(torch.cuda.Stream()):
        manager.encode({"global": [path.unit(8, 0)]})
        manager.capture_due()
        capture.synchronize()
        other, done = torch.cuda.Stream(), torch.cuda.Event()
        with torch.cuda.stream(other):
            torch.cuda._sleep(CYCLES)
            done.record(other)
        for seed in range(3):
            manager.encode({"global": [path.unit(8, seed)]})
            capture.synchronize()
        assert not done.query(), "an encode has waited for the other stream"
        other.synchronize()
    manager.close()
