"""What both trainings of the line reader share: options, the loop by the clock, the mean of the weights, files."""

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from ocr.training.trainer.rate_schedule import Schedule

_CHECK_MINUTES = 2.0
Losses = dict[str, Tensor]


class MeanWeights:
    """An exponential mean of a network's weights, which reads better than the weights of any step.

    every: steps between two updates. keep: the share of the mean that an update leaves, at most; less during the first
    `young` steps. Running means of batch norms are taken as they are.
    Source: Izmailov et al. 2018, Averaging Weights Leads to Wider Optima.
    """

    def __init__(self, net: nn.Module, *, every: int, keep: float, young: int) -> None:
        self._net, self._every, self._keep, self._young = net, every, keep, young
        self.weights = {name: value.detach().clone() for name, value in net.state_dict().items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Adds the weights after a step."""
        if step % self._every:
            return
        new = 1 - min(self._keep, step / (step + self._young))
        for name, value in self._net.state_dict().items():
            if not value.is_floating_point() or "running" in name:
                self.weights[name].copy_(value)
            else:
                self.weights[name].lerp_(value, new)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Lets the network work with the mean, for reading."""
        own = {name: value.detach().clone() for name, value in self._net.state_dict().items()}
        self._net.load_state_dict(self.weights)
        self._net.eval()
        try:
            yield
        finally:
            self._net.load_state_dict(own)
            self._net.train()

    def save(self, file: Path) -> None:
        """Writes the mean in float16, as `LineReader.load` reads it. The file is replaced at once."""
        file.parent.mkdir(parents=True, exist_ok=True)
        made = file.with_suffix(".new")
        stored = {
            name: value.half() if value.is_floating_point() else value for name, value in self.weights.items()
        }
        save_file({name: value.contiguous() for name, value in stored.items()}, made)
        made.replace(file)


def learn(
    args: argparse.Namespace,
    optimiser: torch.optim.Optimizer,
    schedule: Schedule,
    mean: MeanWeights,
    losses: Callable[[], Losses],
    check: Callable[[], str],
) -> int:
    """Trains until the time is over, or args.steps are done; returns the steps.

    losses: the losses of the next step, which are added up. check: called every two minutes, at the end, and before the
    first step of a run that goes on: saves, and returns what to tell. Raises FloatingPointError if a loss is no number.
    """
    begun, told, next_check = time.monotonic(), _Told(args.tell), _CHECK_MINUTES
    parameters = [p for group in optimiser.param_groups for p in group["params"]]
    step = 0
    if args.weights:
        print(f"at the start, HELD-OUT pages: {check()}", flush=True)
        begun, told = time.monotonic(), _Told(args.tell)
    while True:
        minutes = (time.monotonic() - begun) / 60
        share = step / args.steps if args.steps else schedule.share(minutes)
        if share >= schedule.end:
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
            print(f"{minutes:.2f} min HELD-OUT pages: {check()}", flush=True)
            next_check = minutes + _CHECK_MINUTES
    print(f"done: {step} steps, HELD-OUT pages: {check()}", flush=True)
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


def parser(
    name: str, about: str | None, *, pages: int, held: int, rate: float, real: float, scans: float
) -> argparse.ArgumentParser:
    """Returns the options that both trainings have, with the defaults given."""
    made = argparse.ArgumentParser(prog=f"python -m ocr.training.lines.{name}", description=about)
    made.add_argument("--data", type=Path, required=True, help="what ocr.training.corpus and .tokenize made")
    made.add_argument("--out", type=Path, required=True, help="folder for the weights")
    made.add_argument("--minutes", type=float, default=10.0)
    made.add_argument(
        "--weights", type=Path, help="folder of weights to start from, such as an earlier --out"
    )
    made.add_argument("--workers", type=int, default=14, help="processes that draw pages")
    made.add_argument("--pages", type=int, default=pages, help="pages a batch")
    made.add_argument("--held", type=int, default=held, metavar="BATCHES", help="that pages are chosen from")
    made.add_argument("--rate", type=float, default=rate, help="learning rate")
    made.add_argument("--real", type=float, default=real, help="share of pages from documents")
    made.add_argument("--scans", type=float, default=scans, help="share of real scans, where there are some")
    made.add_argument("--tell", type=int, default=200, metavar="STEPS", help="how often losses are told")
    made.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    made.add_argument(
        "--seed", type=int, default=0, help="another for each run that goes on: each draws other pages"
    )
    made.add_argument("--steps", type=int, default=0, help="stop after so many steps (0: by the clock)")
    return made


def begin(args: argparse.Namespace) -> tuple[torch.device, str]:
    """Seeds everything; returns the device, and the characters to learn."""
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    characters: str = json.loads((args.data / "characters.json").read_text(encoding="utf-8"))
    return torch.device(args.device), characters
