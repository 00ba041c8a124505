"""Units shared out over GPUs, with graphs on each; skipped with fewer than two."""

from typing import Any

import pytest
import torch

from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.ranks import RankedManager
from encoders.graphs.settings import GraphSettings
from tests.encoders.graphs.capturing.test_capture_gpu import DeepViewPath
from tests.encoders.graphs.test_threads_gpu import another_thread_works

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices"),
]
FIRST = torch.device("cuda", 0)


def manager(settings: GraphSettings) -> tuple[RankedManager, DeepViewPath]:
    """A manager over all GPUs, and the first one's path."""
    devices = [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
    path, *others = [DeepViewPath(device) for device in devices]
    torch.cuda.synchronize(FIRST)
    return RankedManager(
        [path], settings, FIRST, [([its], device) for its, device in zip(others, devices[1:], strict=True)]
    ), path


def check(shared: RankedManager, path: DeepViewPath, count: int) -> None:
    """Asserts outputs equal to the first GPU's, of units whose batch is freed while they are still being copied."""
    units = [path.unit(8, 1000 * count + seed) for seed in range(count)]
    found = shared.encode({"global": units})["global"]
    expected = path.forward(path.collate(units, FIRST)) if units else {}
    for name, output in expected.items():
        ours = torch.cat([unit.outputs[name] for unit in found])
        assert ours.device == FIRST
        torch.testing.assert_close(ours, output, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("graphs", ["off", "on", "auto"])
@torch.inference_mode()
def test_outputs_are_those_of_one_device_and_lie_there(graphs: Any) -> None:
    settings = GraphSettings(graphs=graphs, max_items=16, parity_every=3, capture_after=3)
    shared, path = manager(settings)
    with another_thread_works() as found, torch.cuda.stream(torch.cuda.Stream(FIRST)):
        for count in (64, 1, 33, 2, 0, 16, 5, 64) * 6:
            shared.capture_due()
            check(shared, path, count)
        stats = shared.stats()["global"]
        each = [(one.stats()["global"].units, one.stats()["global"].graph_bytes) for one in shared.managers]
        shared.go_eager()
        check(shared, path, 40)
        shared.close()
    assert set(found) == {512.0 * 512.0}
    assert stats.units == 185 * 6
    assert all(units > 0 for units, _ in each)
    assert (stats.parity_failures, stats.nan_traps, stats.left_out, stats.stale_graphs) == (0, 0, {}, 0)
    if graphs == "on":
        assert stats.hits == stats.units
        assert all(graph_bytes > 0 for _, graph_bytes in each)


@torch.inference_mode()
def test_a_gpu_that_fails_costs_no_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, path = manager(GraphSettings(graphs="on", max_items=8))
    encode = EncoderGraphManager.encode
    check(shared, path, 32)

    def fails(self: EncoderGraphManager, units: Any) -> Any:
        if self is shared.managers[1]:
            raise RuntimeError("this device is gone")
        return encode(self, units)

    monkeypatch.setattr(EncoderGraphManager, "encode", fails)
    with torch.cuda.stream(torch.cuda.Stream(FIRST)):
        for _ in range(3):
            check(shared, path, 32)
    assert shared.stats()["global"].units == 4 * 32
    shared.close()
