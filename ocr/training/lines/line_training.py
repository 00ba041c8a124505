"""What both trainings of the line reader share: their options, their pages and the run."""

import argparse
import json
import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

import torch
from torch import nn

from ocr.learning.learning_loop import Losses, MeanWeights, Schedule, learn
from ocr.training.lines.page_pool import PagePool, batches
from ocr.training.lines.page_streams import DrawnPages
from ocr.training.lines.scan_pages import Scans

Batch = TypeVar("Batch")


def parser(name: str, about: str | None, **defaults: float) -> argparse.ArgumentParser:
    """Returns the options that both trainings have, with the defaults given."""
    made = argparse.ArgumentParser(prog=f"python -m ocr.training.lines.{name}", description=about)
    made.add_argument("--data", type=Path, required=True, help="what ocr.training.corpus made")
    made.add_argument("--out", type=Path, required=True, help="folder for the weights")
    made.add_argument("--minutes", type=float, default=10.0)
    made.add_argument(
        "--weights", type=Path, help="folder of weights to start from, such as an earlier --out"
    )
    made.add_argument("--workers", type=int, default=14, help="processes that draw pages")
    made.add_argument("--pages", type=int, help="pages a batch")
    made.add_argument("--held", type=int, metavar="BATCHES", help="that pages are chosen from")
    made.add_argument("--uses", type=float, help="how often each page is used on average")
    made.add_argument("--rate", type=float, help="learning rate")
    made.add_argument("--real", type=float, help="share of pages from documents")
    made.add_argument("--scans", type=float, help="share of real scans, where there are some")
    made.add_argument("--tell", type=int, default=200, metavar="STEPS", help="how often losses are told")
    made.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    made.add_argument(
        "--seed", type=int, default=0, help="another for each run that goes on: each draws other pages"
    )
    made.add_argument("--steps", type=int, default=0, help="stop after so many steps (0: by the clock)")
    made.set_defaults(**defaults)
    return made


class LineTraining(ABC, Generic[Batch]):
    """One run. A training sets its network, optimiser and mean. flat, warm_up: as Schedule has them."""

    drawn: ClassVar[type[DrawnPages]]  # type: ignore[type-arg]
    flat: ClassVar[float]
    warm_up: ClassVar[int] = 100
    net: nn.Module
    mean: MeanWeights
    optimiser: torch.optim.Optimizer

    def __init__(self, args: argparse.Namespace) -> None:
        torch.manual_seed(args.seed)
        random.seed(args.seed)
        self.args, self.device = args, torch.device(args.device)
        self.characters: str = json.loads((args.data / "characters.json").read_text(encoding="utf-8"))

    def run(self) -> None:
        """Trains, and writes the weights."""
        args = self.args
        held_out = {"": list(islice(self._pages("valid", 0.0), 2))}
        if Scans(args.data / "scans", "valid").printed:
            held_out["scans "] = list(islice(self._pages("valid", 1.0), 2))
        pool = PagePool(batches(self._pages("train", args.scans), args.workers), args.held, args.uses)

        def check() -> str:
            self.save()
            return f"HELD-OUT pages: {self.score(held_out)}; {pool.arrived * args.pages} pages drawn"

        schedule = Schedule(
            minutes=args.minutes, steps=args.steps, flat=self.flat, warm_up=self.warm_up, tell=args.tell
        )
        learn(self.optimiser, schedule, self.mean, self.steps(pool.draw), check, goes_on=bool(args.weights))

    @abstractmethod
    def steps(self, draw: Callable[[], Batch]) -> Callable[[], Losses]:
        """Returns what gives the losses of the next step. draw: returns a batch of pages."""

    @abstractmethod
    def score(self, held_out: dict[str, list[Batch]]) -> str:
        """Returns how good the mean of the weights is on pages of each kind."""

    @abstractmethod
    def save(self) -> None:
        """Writes the mean of the weights, for `LineReader.load`."""

    def _pages(self, split: str, scans: float) -> DrawnPages[Batch]:
        return self.drawn(self.args, self.characters, split, scans)
