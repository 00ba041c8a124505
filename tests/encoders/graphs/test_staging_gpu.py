"""Staging on CUDA: batches follow each other without any wait; skipped where there is no CUDA device."""

import pytest
import torch

from encoders.graphs.capturing.capture import CudaGraphCapture
from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.path import Unit
from encoders.graphs.settings import GraphSettings
from encoders.graphs.staging import CudaTransfers, Staging
from tests.encoders.graphs.capturing.test_capture_gpu import DeepViewPath
from tests.encoders.graphs.eager_capture import poisoned
from tests.encoders.graphs.toys import SequencePath

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


SLEEP_CYCLES = 2_000_000  # about a millisecond


class Busy(CudaTransfers):
    """The compute stream is busy before it reads a slot: copies that do not wait for it overwrite what it will read."""

    def lay(self, target: torch.Tensor, source: torch.Tensor) -> None:
        torch.cuda._sleep(SLEEP_CYCLES)  # type: ignore[no-untyped-call]
        super().lay(target, source)


class Late(CudaTransfers):
    """The copy stream is busy before it reads a slot: a host that does not wait overwrites what it will read."""

    def send(self, target: torch.Tensor, source: torch.Tensor) -> torch.cuda.Event:
        with torch.cuda.stream(self._stream):
            torch.cuda._sleep(SLEEP_CYCLES)  # type: ignore[no-untyped-call]
        return super().send(target, source)


@pytest.mark.parametrize("make", [CudaTransfers, Busy, Late])
def test_no_batch_under_way_is_overwritten(make: type[CudaTransfers]) -> None:
    device = torch.device("cuda")
    staging = Staging(make(device))
    written = []
    for seed in range(40):
        generator = torch.Generator().manual_seed(seed)
        count = int(torch.randint(1, 9, (), generator=generator))
        pieces = {
            "pixels": [
                torch.randint(0, 256, (1, 3, 64, 64), dtype=torch.uint8, generator=generator)
                for _ in range(count)
            ],
            "offsets": [torch.arange(count + 1)],
        }
        kept = {name: torch.cat(parts) for name, parts in pieces.items()}
        written.append((kept, staging.collate(pieces, device)))
        for parts in pieces.values():
            for part in parts:
                part.zero_()
    for kept, inputs in written:
        for name, value in kept.items():
            assert torch.equal(inputs[name].cpu(), value), name
    staging.close()
    assert staging.num_bytes == 0


@pytest.mark.parametrize("make", [CudaTransfers, Busy, Late])
def test_batches_in_a_row_equal_eager(make: type[CudaTransfers]) -> None:
    """Replays of several sizes, eager batches between them (an axis above all sizes), and no wait in between."""
    device = torch.device("cuda")
    path = DeepViewPath(device)
    budgets = {"global": [16, 32, 48]}  # one to three views of 8 px, none of 16
    settings = GraphSettings(graphs="on", budgets=budgets, max_items=8, parity_every=0)
    capture = poisoned(CudaGraphCapture(device))
    manager = EncoderGraphManager([path], settings, device, capture, Staging(make(device)))
    rounds: list[list[Unit]] = [
        [path.unit(8, 100 * turn + seed) for seed in range(count)] + [path.unit(16, turn)] * (count % 3)
        for turn, count in enumerate((61, 1, 30, 8, 3, 77, 16, 5, 2, 40))
    ]
    encoded = [manager.encode({"global": units})["global"] for units in rounds]
    for units, ours in zip(rounds, encoded, strict=True):
        for unit, mine in zip(units, ours, strict=True):
            alone = path.forward(path.collate([unit], device))
            assert torch.allclose(mine.outputs["tokens"], alone["tokens"], atol=1e-5)
            assert torch.equal(mine.outputs["brightest"], alone["brightest"])
    stats = manager.stats()["global"]
    assert stats.replays > 20
    assert stats.eager_batches > 0
    assert (stats.nan_traps, stats.stale_graphs) == (0, 0)
    manager.close()


def test_several_inputs_of_different_lengths() -> None:
    device = torch.device("cuda")
    path = SequencePath()
    path.workspace = path.workspace.to(device)
    settings = GraphSettings(graphs="on", max_items=8)
    manager = EncoderGraphManager([path], settings, device, poisoned(CudaGraphCapture(device)))
    units = [path.unit([2 * (seed % 5) + 2, 4], seed) for seed in range(60)]
    encoded = manager.encode({"sequences": units})["sequences"]
    for unit, mine in zip(units, encoded, strict=True):
        alone = path.forward(path.collate([unit], device))
        assert torch.allclose(mine.outputs["tokens"], alone["tokens"], atol=1e-5)
    stats = manager.stats()["sequences"]
    assert stats.hits > 0
    assert stats.nan_traps == 0


def test_units_on_the_device_need_no_host_memory() -> None:
    device = torch.device("cuda")
    path = DeepViewPath(device)
    staging = Staging(CudaTransfers(device))
    capture = poisoned(CudaGraphCapture(device))
    manager = EncoderGraphManager([path], GraphSettings(graphs="on", max_items=4), device, capture, staging)
    manager.warm_up({"global": [8]})
    staging.close()
    there = [
        Unit(tokens=16, axis=8, inputs={"pixels": path.unit(8, seed).inputs["pixels"].to(device)})
        for seed in range(6)
    ]
    encoded = manager.encode({"global": there})["global"]
    for unit, mine in zip(there, encoded, strict=True):
        assert mine.use == "hit"
        alone = path.forward(path.collate([unit], device))
        assert torch.allclose(mine.outputs["tokens"], alone["tokens"], atol=1e-5)
    assert staging.num_bytes == 0
