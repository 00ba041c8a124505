"""Measures the savings of drafts on real pages: tokens a verify step, and seconds with and without them.

python -m tests.benchmarks.decoding.draft_savings OUT.json --pages 50
python -m tests.benchmarks.decoding.draft_savings OUT.json --device cuda --dtype bfloat16 --engine paged --slots 1,32 \\
    --cache FOLDER

The same engine reads the same pages without and with drafts, alternating group by group: page by page with one
slot, else three times as many readings as there are slots; a page's share of its group's seconds is that of its
readings' own times. Decoding only, including prefill and the making of drafts. Kinds of pages: born-digital (PDFs of
the evaluation set, with text layer: neither in training nor used to tune drafts), scan (worn pictures of other pages of
that set and two photographs of print: no text layer), sample (tests/samples, on which drafts were tuned) and other
(of --others). Every page counts. Tokens a step: those chosen by verify steps, ends included, over steps; a prefill
chooses each first token.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

import torch

from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import LoadedModel
from tests.benchmarks.prompts import real_pages
from tests.benchmarks.prompts.reading_engines import ReadingEngine, num_prompt_tokens, request_of
from tests.benchmarks.prompts.real_pages import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of one or several pages. stepped: tokens that steps chose. cpu_s: of all threads, user and system."""

    tokens: int = 0
    stepped: int = 0
    steps: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            tokens=self.tokens + other.tokens,
            stepped=self.stepped + other.stepped,
            steps=self.steps + other.steps,
            cpu_s=self.cpu_s + other.cpu_s,
            wall_s=self.wall_s + other.wall_s,
        )

    @property
    def tokens_a_step(self) -> float:
        """Returns the tokens chosen per step, 1 without drafts. A page without steps ended with its first token."""
        return self.stepped / self.steps if self.steps else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCosts:
    """A page read both ways. same: whether both readings are equal, token by token."""

    page: str
    group: str
    plain: Cost
    drafted: Cost
    same: bool

    def __add__(self, other: "PageCosts") -> "PageCosts":
        return replace(
            self,
            plain=self.plain + other.plain,
            drafted=self.drafted + other.drafted,
            same=self.same and other.same,
        )

    def speed_up(self, clock: str) -> float:
        """Returns how many times as fast drafts make it. clock: "cpu_s" or "wall_s"."""
        return float(getattr(self.plain, clock) / max(getattr(self.drafted, clock), 1e-9))


class Pair:
    """An engine without and with drafts, alternating."""

    def __init__(self, engine: str, loaded: LoadedModel, *, slots: int, cap: int, max_tokens: int) -> None:
        self._loaded, self._cap = loaded, cap
        self._device = loaded.model.lm_head.weight.device
        self._engine = ReadingEngine(engine, loaded, slots=slots, max_tokens=max_tokens)

    def read(self, readings: Sequence[Reading], *, drafts_first: bool) -> list[PageCosts]:
        """Reads one group once each way."""
        found = {drafts: self._read(readings, drafts) for drafts in (drafts_first, not drafts_first)}
        return [
            PageCosts(
                page=reading.page,
                group=reading.group,
                plain=plain[0],
                drafted=drafted[0],
                same=plain[1] == drafted[1],
            )
            for reading, plain, drafted in zip(readings, found[False], found[True], strict=True)
        ]

    def _read(self, readings: Sequence[Reading], drafts: bool) -> list[tuple[Cost, tuple[int, ...]]]:
        requests = [request_of(self._loaded, reading, self._cap, drafts=drafts) for reading in readings]
        self._synchronize()
        cpu, wall = time.process_time(), time.perf_counter()
        reads = sorted(self._engine.read(requests), key=lambda read: read.index)
        self._synchronize()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        own = [read.prefill_s + read.generate_s for read in reads]
        costs = []
        for read, seconds in zip(reads, own, strict=True):
            count, share = len(read.transcript.token_ids), seconds / sum(own)
            cost = Cost(
                tokens=count,
                stepped=max(count + (read.transcript.finish == "eos") - 1, 0),
                steps=read.num_steps,
                cpu_s=cpu * share,
                wall_s=wall * share,
            )
            costs.append((cost, read.transcript.token_ids))
        return costs

    def _synchronize(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def close(self) -> None:
        self._engine.close()


def by_page(costs: Iterable[PageCosts]) -> list[PageCosts]:
    """Returns costs with the crops of a page added up."""
    pages: dict[str, PageCosts] = {}
    for one in costs:
        pages[one.page] = pages[one.page] + one if one.page in pages else one
    return list(pages.values())


def summary(pages: Sequence[PageCosts]) -> dict[str, Any]:
    """Returns medians over one group of pages, and totals."""
    plain, drafted = (sum((getattr(page, way) for page in pages), Cost()) for way in ("plain", "drafted"))
    return {
        "pages": len(pages),
        "tokens": drafted.tokens,
        "steps": drafted.steps,
        "tokens_a_step": drafted.tokens_a_step,
        "tokens_a_step_median": median(page.drafted.tokens_a_step for page in pages),
        "tokens_a_step_least": min(page.drafted.tokens_a_step for page in pages),
        **{
            f"{clock}_{way}": getattr(cost, clock)
            for clock in ("cpu_s", "wall_s")
            for way, cost in (("plain", plain), ("drafted", drafted))
        },
        **{
            f"speed_up_{clock}": getattr(plain, clock) / max(getattr(drafted, clock), 1e-9)
            for clock in ("cpu_s", "wall_s")
        },
        **{
            f"speed_up_{clock}_median": median(page.speed_up(clock) for page in pages)
            for clock in ("cpu_s", "wall_s")
        },
        "pages_slower": sum(page.speed_up("wall_s") < 1 for page in pages),
        "pages_not_the_same": sum(not page.same for page in pages),
    }


def lines(pages: Sequence[PageCosts], clock: str) -> Iterable[str]:
    """Yields the table of one number of slots: every page, then the groups."""
    yield f"{'page':44} {'tokens':>6} {'steps':>5} {'/step':>5} {'plain s':>8} {'drafts s':>8} {'x':>5}"
    for page in pages:
        plain, drafted = (getattr(cost, clock) for cost in (page.plain, page.drafted))
        yield (
            f"{page.page:44} {page.drafted.tokens:6} {page.drafted.steps:5} {page.drafted.tokens_a_step:5.1f} "
            f"{plain:8.2f} {drafted:8.2f} {page.speed_up(clock):5.2f}{'' if page.same else '  NOT THE SAME'}"
        )
    for group, of_group in groups(pages).items():
        told = summary(of_group)
        yield (
            f"{group}: {told['pages']} pages, {told['tokens']} tokens, {told['steps']} steps: "
            f"{told['tokens_a_step']:.2f} tokens a step (median page {told['tokens_a_step_median']:.2f}, least "
            f"{told['tokens_a_step_least']:.2f}); {clock} {told[f'{clock}_plain']:.1f} -> "
            f"{told[f'{clock}_drafted']:.1f}: x{told[f'speed_up_{clock}']:.2f} (median page "
            f"x{told[f'speed_up_{clock}_median']:.2f}), slower on {told['pages_slower']}; not the same: "
            f"{told['pages_not_the_same']}"
        )


def groups(pages: Sequence[PageCosts]) -> dict[str, list[PageCosts]]:
    found: dict[str, list[PageCosts]] = {}
    for page in pages:
        found.setdefault(page.group, []).append(page)
    return found


def measure(
    loaded: LoadedModel, readings: Sequence[Reading], slots: int, args: argparse.Namespace
) -> list[PageCosts]:
    """Returns the costs of all pages with this many slots, after uncounted readings that compile and capture."""
    most = max(num_prompt_tokens(loaded, reading) for reading in readings) + args.cap
    pair = Pair(args.engine, loaded, slots=slots, cap=args.cap, max_tokens=most)
    size = 1 if slots == 1 else 3 * slots
    pair.read(readings[: size if args.device == "cuda" else 1], drafts_first=True)
    costs: list[PageCosts] = []
    for number, start in enumerate(range(0, len(readings), size)):
        costs += pair.read(readings[start : start + size], drafts_first=number % 2 == 1)
        print(f"slots {slots}: {len(costs)} of {len(readings)} readings", file=sys.stderr, flush=True)
    pair.close()
    return by_page(costs)


def main(arguments: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    torch.set_num_threads(args.threads)
    real_pages.ensure(args.cache, args)
    readings = sorted(real_pages.stored(args.cache, args.pages), key=lambda reading: reading.group)
    loaded = checkpoint.load(args.model, device=args.device, dtype=getattr(torch, args.dtype))
    clock = "wall_s" if args.device == "cuda" else "cpu_s"
    found: dict[str, Any] = {
        "device": torch.cuda.get_device_name() if args.device == "cuda" else "cpu",
        **{name: getattr(args, name) for name in ("engine", "dtype", "cap", "threads")},
    }
    for slots in map(int, args.slots.split(",")):
        pages = measure(loaded, readings, slots, args)
        print(f"\n{args.engine}, {slots} slots", *lines(pages, clock), sep="\n", flush=True)
        found[f"slots_{slots}"] = {
            "groups": {group: summary(some) for group, some in groups(pages).items()},
            "pages": [asdict(page) for page in pages],
        }
        args.output.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = real_pages.reading_parser("decoding.draft_savings", __doc__)
    parser.add_argument("--engine", default="engine", choices=("engine", "paged"))
    parser.add_argument("--slots", default="8", help="pages at once, several in turn (default: 8)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
