"""Captures after all graphs are gone, and after one that failed; skipped without a CUDA device."""

import pytest
import torch

from encoders.graphs.capturing.buffers import StaticBuffers
from encoders.graphs.capturing.capture import CudaGraphCapture, Graph
from encoders.graphs.path import Tensors
from tests.encoders.graphs.capturing.test_capture_gpu import DeepViewPath

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


class SometimesSynchronising(DeepViewPath):
    """Looks at a value on the host when it is told to, which no graph can hold."""

    looks = False

    def forward(self, inputs: Tensors) -> Tensors:
        if self.looks:
            assert inputs["pixels"].max().item() >= 0
        return super().forward(inputs)


def in_use() -> int:
    """Bytes of tensors, and of those gone that streams may not be done with."""
    return int(torch.cuda.memory_stats()["active_bytes.all.current"])


def assert_replays(
    capture: CudaGraphCapture, path: DeepViewPath, graph: Graph, buffers: StaticBuffers
) -> None:
    unit = path.unit(8, 5)
    with torch.inference_mode():
        buffers.write([unit])
        capture.replay(graph)
        alone = path.forward(path.collate([unit], capture.device))
        ours = graph.outputs["tokens"][: len(alone["tokens"])]
        assert torch.allclose(ours, alone["tokens"], atol=1e-5)


def test_graphs_are_captured_again_after_the_last_one_is_gone() -> None:
    device = torch.device("cuda")
    path, capture = DeepViewPath(device), CudaGraphCapture(device)
    for _ in range(3):
        buffers = StaticBuffers(path, 8, 64, device)
        large = capture.capture(path, 8, 64, buffers)
        small = capture.capture(path, 8, 16, buffers)
        assert_replays(capture, path, large, buffers)
        assert_replays(capture, path, small, buffers)
        large.release()
        small.release()


def test_a_capture_that_fails_spoils_neither_those_before_nor_those_after() -> None:
    device = torch.device("cuda")
    path, capture = SometimesSynchronising(device), CudaGraphCapture(device)
    buffers = StaticBuffers(path, 8, 64, device)
    before = capture.capture(path, 8, 64, buffers)
    for _ in range(2):
        path.looks = True
        with pytest.raises(RuntimeError):
            capture.capture(path, 8, 32, buffers)
        path.looks = False
        after = capture.capture(path, 8, 16, buffers)
        for graph in (before, after):
            assert_replays(capture, path, graph, buffers)
        after.release()
        assert torch.rand(8, device=device).isfinite().all(), "the generator draws again"
    before.release()


def test_memory_that_two_streams_used_comes_back_after_a_capture_that_failed() -> None:
    device = torch.device("cuda")
    path, capture = SometimesSynchronising(device), CudaGraphCapture(device)
    path.looks = True
    with pytest.raises(RuntimeError):
        capture.capture(path, 8, 64, StaticBuffers(path, 8, 64, device))
    before = in_use()
    other = torch.cuda.Stream()
    for _ in range(4):
        used = torch.empty(1 << 20, dtype=torch.uint8, device=device)
        used.record_stream(other)
        del used
        torch.cuda.synchronize()
    torch.empty(1, device=device)  # the allocator looks at what other streams are done with
    assert in_use() <= before + (1 << 20)
