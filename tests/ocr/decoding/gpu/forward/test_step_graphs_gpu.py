"""Captured steps on a CUDA device."""

import pytest
import torch

from ocr.decoding.gpu.forward.step_graphs import StepGraphs

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def test_a_step_that_cannot_be_captured_leaves_stream_and_other_steps_as_they_are() -> None:
    device = torch.device("cuda", 0)
    graphs, count = StepGraphs(8), torch.zeros(8, device=device)
    with torch.cuda.stream(torch.cuda.Stream(device)):
        stream = torch.cuda.current_stream(device)
        graphs.capture(lambda: count.add_(1), 8, device)  # type: ignore[arg-type]
        for _ in range(2):
            with pytest.raises(RuntimeError):
                graphs.capture(lambda: count.add_(count.max().item()), 4, device)  # type: ignore[arg-type]
            assert torch.cuda.current_stream(device) == stream
            assert graphs.usable(4) == 8
        graphs.capture(lambda: count[:2].mul_(2), 2, device)  # type: ignore[arg-type]
        count.fill_(3)
        graphs.replay(8)
        graphs.replay(2)
        assert count.tolist() == [8, 8, 4, 4, 4, 4, 4, 4]
