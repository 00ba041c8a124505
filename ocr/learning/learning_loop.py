"""The one loop of all trainings: by the clock, with the mean of the weights."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

_CHECK_MINUTES = 2.0
Losses = dict[str, Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """How long a training takes and how its rates go.

    minutes: its length by the clock; steps: its length where that is counted instead (0: by the clock).
    flat: the share of it before the rates decay. warm_up: steps in which they rise. tell: steps between two reports.
    """

    minutes: float = 10.0
    steps: int = 0
    flat: float
    warm_up: int = 100
    tell: int = 200

    def share(self, step: int, minutes: float) -> float:
        """Returns the share of the training that is over, 1 or more at its end."""
        return step / self.steps if self.steps else minutes / self.minutes

    def factor(self, step: int, share: float) -> float:
        """Returns the factor of the rates: it rises, stays, then falls linearly to zero."""
        decay = 1.0 if share <= self.flat else max(0.0, (1 - share) / (1 - self.flat))
        return min(1.0, (step + 1) / self.warm_up, decay)


class MeanWeights:
    """An exponential mean of a network's weights, which reads better than the weights of any step.

    every: steps between two updates. keep: the share of the mean that an update leaves, at most; less during the first
    `young` steps. Running means of batch norms are taken as they are.
    Source: Izmailov et al. 2018, Averaging Weights Leads to Wider Optima.
    """

    def __init__(self, net: nn.Module, *, every: int, keep: float, young: int) -> None:
        self._own, self._every, self._keep, self._young = net, every, keep, young
        self._mean = AveragedModel(net, avg_fn=lambda mean, own, _: torch.lerp(mean, own, self._new))
        self._mean.n_averaged += 1  # the weights at the start count
        self._new = 0.0

    @property
    def net(self) -> nn.Module:
        """The network with the mean, for reading."""
        net: nn.Module = self._mean.module.eval()
        return net

    def update(self, step: int) -> None:
        """Adds the weights after a step."""
        if step % self._every == 0:
            self._new = 1 - min(self._keep, step / (step + self._young))
            self._mean.update_parameters(self._own)

    def save(self, file: Path) -> None:
        """Writes the mean in float16, as `LineReader.load` reads it. The file is replaced at once.

        Raises: FloatingPointError if a weight is no number, as after a rate that was too high, or too large.
        """
        stored = {
            name: value.half() if value.is_floating_point() else value
            for name, value in self.net.state_dict().items()
        }
        if not all(value.isfinite().all() for value in stored.values()):
            raise FloatingPointError("weights are no numbers")
        file.parent.mkdir(parents=True, exist_ok=True)
        made = file.with_suffix(".new")
        save_file({name: value.contiguous() for name, value in stored.items()}, made)
        made.chmod(0o644)  # safetensors writes files that only their owner may read
        made.replace(file)


def learn(
    optimiser: torch.optim.Optimizer,
    schedule: Schedule,
    mean: MeanWeights,
    losses: Callable[[], Losses],
    check: Callable[[], str],
    *,
    goes_on: bool = False,
) -> int:
    """Trains until the schedule is over; returns the steps.

    losses: the losses of the next step, which are added up. check: called every two minutes, at the end, and before the
    first step of a run that goes on: saves, and returns what to tell. Raises FloatingPointError if a loss is no number.
    """
    if goes_on:
        print(f"at the start, {check()}", flush=True)
    begun, told, next_check = time.monotonic(), _Told(schedule.tell), _CHECK_MINUTES
    parameters = [p for group in optimiser.param_groups for p in group["params"]]
    step = 0
    while True:
        minutes = (time.monotonic() - begun) / 60
        share = schedule.share(step, minutes)
        if share >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = group.setdefault("initial_lr", group["lr"]) * schedule.factor(step, share)
        parts = losses()
        optimiser.zero_grad(set_to_none=True)
        torch.stack(list(parts.values())).sum().backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        step += 1
        mean.update(step)
        told.add(step, minutes, parts)
        if minutes > next_check:
            print(f"{minutes:.2f} min {check()}", flush=True)
            next_check = minutes + _CHECK_MINUTES
    print(f"done: {step} steps, {check()}", flush=True)
    return step


class _Told:
    """Tells the mean losses of every so many steps."""

    def __init__(self, every: int) -> None:
        self._every, self._seen, self._mark = every, list[Tensor](), time.monotonic()

    def add(self, step: int, minutes: float, parts: Losses) -> None:
        self._seen.append(torch.stack([part.detach() for part in parts.values()]))
        if step % self._every:
            return
        means = torch.stack(self._seen).mean(0)
        if not means.isfinite().all():
            raise FloatingPointError(f"step {step}: a loss is no number")
        losses = " ".join(f"{name}={value:.3f}" for name, value in zip(parts, means.tolist(), strict=True))
        pace = self._every / (time.monotonic() - self._mark)
        print(f"{minutes:.2f} min step {step} {losses}, {pace:.1f} steps/s", flush=True)
        self._seen, self._mark = [], time.monotonic()
