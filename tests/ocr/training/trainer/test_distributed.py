"""Several ranks train as one: averaged gradients, one clock."""

import os
import socket
from pathlib import Path

import torch
import torch.multiprocessing
from torch import nn

from ocr.training.trainer.distributed import Gradients, Ranks


def train_one_step(rank: int, port: int, out: str) -> None:
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)
    )
    torch.manual_seed(0)
    ranks, model, unused = Ranks(), nn.Linear(3, 1, bias=False), nn.Linear(1, 1, bias=False)
    gradients = Gradients([*model.parameters(), *unused.parameters()], ranks)
    model(torch.full((1, 3), float(rank + 1))).sum().backward()
    clock = gradients.average(clock=10.0 + rank)
    torch.save({"grad": model.weight.grad, "unused": unused.weight.grad, "clock": clock}, f"{out}/{rank}.pt")
    ranks.close()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_ranks_average_gradients_and_follow_the_first_clock(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(train_one_step, (free_port(), str(tmp_path)), nprocs=2)
    told = [torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2)]
    for values in told:
        assert torch.equal(values["grad"], torch.full((1, 3), 1.5))
        assert torch.equal(values["unused"], torch.zeros(1, 1))
        assert values["clock"].item() == 10.0


def test_alone_gradients_stay_and_are_zeroed_in_place() -> None:
    model = nn.Linear(2, 1, bias=False)
    gradients = Gradients(model.parameters(), Ranks())
    model(torch.tensor([[1.0, 2.0]])).sum().backward()
    assert gradients.average(clock=3.0).item() == 3.0
    assert model.weight.grad is not None
    assert model.weight.grad.tolist() == [[1.0, 2.0]]
    gradients.zero()
    assert model.weight.grad.tolist() == [[0.0, 0.0]]
