"""The schedule by the clock and by steps, the mean of the weights, and a loss that is no number."""

from pathlib import Path

import pytest
import torch

from ocr.learning.learning_loop import MeanWeights, Schedule, learn


def test_rates_rise_stay_and_fall() -> None:
    schedule = Schedule(minutes=10, flat=0.5, warm_up=100)
    assert schedule.factor(0, schedule.share(0, 0)) == pytest.approx(0.01)
    assert schedule.factor(49, schedule.share(49, 1)) == pytest.approx(0.5)
    assert schedule.factor(99, schedule.share(99, 5)) == 1
    assert schedule.factor(500, schedule.share(500, 7.5)) == pytest.approx(0.5)
    assert schedule.share(500, 10) == 1
    assert Schedule(minutes=10, steps=40, flat=0.5).share(20, 99) == 0.5


def test_the_mean_of_the_weights_follows_them_and_leaves_them() -> None:
    net = torch.nn.Linear(1, 1, bias=False)
    mean = MeanWeights(net, every=2, keep=0.5, young=0)
    before = net.weight.item()
    with torch.no_grad():
        net.weight.fill_(before + 4)
    mean.update(1)
    assert mean.net.get_parameter("weight").item() == before
    mean.update(2)
    assert mean.net.get_parameter("weight").item() == pytest.approx(before + 2)
    assert not mean.net.training
    assert net.weight.item() == pytest.approx(before + 4)
    assert net.training


def test_a_loss_that_is_no_number_ends_it() -> None:
    net = torch.nn.Linear(1, 1)
    mean = MeanWeights(net, every=1, keep=0.9, young=1)
    optimiser = torch.optim.AdamW(net.parameters(), 1e-3)
    with pytest.raises(FloatingPointError, match="step 1: a loss is no number"):
        learn(
            optimiser, Schedule(steps=3, flat=0.0, tell=1), mean,
            lambda: {"loss": net(torch.full((1, 1), torch.nan)).sum()}, lambda: "",
        )  # fmt: skip


@pytest.mark.parametrize("weight", [float("nan"), 1e6])
def test_weights_that_are_no_numbers_in_16_bits_are_not_saved(tmp_path: Path, weight: float) -> None:
    net = torch.nn.Linear(1, 1)
    torch.nn.init.constant_(net.weight, weight)
    with pytest.raises(FloatingPointError, match="weights are no numbers"):
        MeanWeights(net, every=1, keep=0.9, young=1).save(tmp_path / "net.safetensors")
    assert not list(tmp_path.iterdir())
