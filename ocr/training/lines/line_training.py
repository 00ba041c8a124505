"""The options that all trainings of the line reader have."""

import argparse
import json
import random
from pathlib import Path

import torch

from ocr.learning.learning_loop import Schedule


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


def schedule_of(args: argparse.Namespace, *, flat: float, warm_up: int = 100) -> Schedule:
    """Returns the schedule that the options ask for."""
    return Schedule(minutes=args.minutes, steps=args.steps, flat=flat, warm_up=warm_up, tell=args.tell)
