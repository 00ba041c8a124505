"""CUDA graphs themselves; skipped where there is no CUDA device."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from encoders.graphs.capturing.buffers import StaticBuffers
from encoders.graphs.capturing.capture import CudaGraphCapture
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.path import Tensors
from encoders.graphs.settings import GraphSettings
from tests.encoders.graphs.eager_capture import poisoned
from tests.encoders.graphs.toys import ToyPath, ViewPath, linear

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


ALLOCATOR_SEGMENT = 2 << 20  # bytes that CUDA's caching allocator reserves at once for small tensors


class DeepViewPath(ViewPath):
    """Views through many small layers, whose launches a graph saves."""

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self.layer.to(device)
        self.deep = torch.nn.Sequential(*(linear(5, 5, seed) for seed in range(40))).to(device)

    def forward(self, inputs: Tensors) -> Tensors:
        outputs = super().forward(inputs)
        tokens = outputs["tokens"]
        for layer in self.deep:
            tokens = tokens + 0.01 * layer(tokens)
        return outputs | {"tokens": tokens}


class QuickReplays(CudaGraphCapture):
    """Every graph wins its trial, also on a GPU that others keep busy: for tests of trials that are not about speed."""

    def measure_in_turn(self, runs: Sequence[Any], repeats: int) -> list[float]:
        for run in runs:
            run()
        return [0.5 if run.func.__name__ == "replay" else 1.0 for run in runs]


def test_replays_equal_eager_on_fresh_inputs_out_of_one_pool() -> None:
    device = torch.device("cuda")
    path = DeepViewPath(device)
    settings = GraphSettings(max_items=16, parity_every=2)
    manager = EncoderGraphManager([path], settings, device, poisoned(QuickReplays(device)))
    manager.warm_up({"global": [8, 16]})
    stats = manager.stats()["global"]
    assert stats.budgets["8"][-1] == 16 * 16
    assert stats.losing_graphs == 0
    for count in (16, 1, 5, 31, 2):
        units = [path.unit(side, seed) for seed in range(count) for side in (8, 16)]
        encoded = manager.encode({"global": units})["global"]
        for unit, ours in zip(units, encoded, strict=True):
            assert ours.use == "hit"
            alone = path.forward(path.collate([unit], device))
            assert torch.allclose(ours.outputs["tokens"], alone["tokens"], atol=1e-5)
            assert torch.equal(ours.outputs["brightest"], alone["brightest"])
    assert (stats.nan_traps, stats.parity_failures, stats.stale_graphs) == (0, 0, 0)


def test_a_moved_weight_is_captured_again() -> None:
    device = torch.device("cuda")
    path = DeepViewPath(device)
    manager = EncoderGraphManager([path], GraphSettings(max_items=4), device, QuickReplays(device))
    manager.warm_up({"global": [8]})
    path.layer.weight.data = -path.layer.weight.data
    unit = path.unit(8, 0)
    (ours,) = manager.encode({"global": [unit]})["global"]
    alone = path.forward(path.collate([unit], device))
    assert torch.allclose(ours.outputs["tokens"], alone["tokens"], atol=1e-5)
    assert manager.stats()["global"].recaptures == 1


def test_closing_gives_the_memory_back() -> None:
    device = torch.device("cuda")
    path = DeepViewPath(device)
    capture = CudaGraphCapture(device)
    manager = EncoderGraphManager([path], GraphSettings(max_items=256), device, capture)
    manager.warm_up({"global": [64]})
    assert manager.stats()["global"].graph_bytes > 256 * 64 * 64
    assert capture.pool_bytes > 0
    manager.close()
    assert capture.pool_bytes <= ALLOCATOR_SEGMENT, (
        "what it holds for other reasons is not given back in parts"
    )
    assert manager.stats()["global"].left_out == {}


def test_the_pool_is_given_back_with_its_last_graph() -> None:
    device = torch.device("cuda")
    path = DeepViewPath(device)
    capture = CudaGraphCapture(device)
    buffers = StaticBuffers(path, 64, 64 * 1024, device)
    large = capture.capture(path, 64, 64 * 1024, buffers)
    held = capture.pool_bytes
    assert held > 0
    small = capture.capture(path, 64, 1024, buffers)
    assert capture.pool_bytes == held, "a smaller one uses what the larger one left free"
    large.release()
    assert capture.pool_bytes == held, "nothing comes back beside another graph"
    small.release()
    assert capture.pool_bytes < held


class Synchronising(DeepViewPath):
    """Looks at a value on the host, which no graph can hold."""

    def forward(self, inputs: Tensors) -> Tensors:
        assert inputs["pixels"].max().item() >= 0
        return super().forward(inputs)


def test_what_cannot_be_captured_runs_eagerly() -> None:
    device = torch.device("cuda")
    path: ToyPath = Synchronising(device)
    settings = GraphSettings(graphs="on", max_items=4)
    manager = EncoderGraphManager([path], settings, device)
    manager.warm_up({"global": [8]})
    assert manager.stats()["global"].left_out == {"8": [64, 32, 16]}
    assert isinstance(path, Synchronising)
    assert manager.encode({"global": [path.unit(8, 0)]})["global"][0].use == "miss"
    after = DeepViewPath(device)
    fresh = EncoderGraphManager([after], settings, device)
    fresh.warm_up({"global": [8]})
    assert fresh.encode({"global": [after.unit(8, 0)]})["global"][0].use == "hit"


def test_buffers_of_a_graph_do_not_move() -> None:
    device = torch.device("cuda")
    path = DeepViewPath(device)
    capture = CudaGraphCapture(device)
    buffers = StaticBuffers(path, 8, 64, device)
    graph = capture.capture(path, 8, 64, buffers)
    with torch.inference_mode():
        for seed in range(3):
            buffers.write([path.unit(8, seed)])
            capture.replay(graph)
            graph.check(buffers, path.watched(8))
    graph.release()
