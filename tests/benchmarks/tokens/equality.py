"""Checks that our engines write the tokens of transformers' greedy `generate`, one by one, on real pages.

python -m tests.benchmarks.tokens.equality OUT.json DOCS --pages 50
python -m tests.benchmarks.tokens.equality OUT.json DOCS --device cuda --dtype bfloat16 --reference-batch 8

Each engine reads all pages with 1, 3 and 8 slots, in another order each time. A difference is allowed if the two
likeliest allowed tokens of the reference are within 1e-3. In bf16 it also reports how close they are in fp32 with
the same weights, and how far rounding moves such gaps (tests.benchmarks.tokens.equality_gaps).
OUT.json is written as it goes, and a stopped run continues from there; --again keeps the reference only. With 3
slots the source pauses now and then, like an encoder that does not keep up. DOCS: PDFs, images, or folders of them.
Exits with 1 if a difference is not allowed; bf16 allows all whose fp32 gap is no greater than what rounding moves.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import transformers

from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import LoadedModel
from tests.benchmarks.tokens.equality_findings import Difference, Findings, first_difference
from tests.benchmarks.tokens.equality_gaps import PageGaps, measure, rounding_lines
from tests.benchmarks.tokens.generate_reference import GenerateReference, Reference
from tests.benchmarks.tokens.reading_engines import (
    ENGINES,
    Reading,
    ReadingEngine,
    num_prompt_tokens,
    readings,
    request_of,
    with_pauses,
)

GENERATE = "generate"  # one of --engines: transformers itself, in batches of as many pages as there are slots


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One reading by an engine. steps: forwards after its prefill."""

    tokens: Sequence[int]
    finish: str
    steps: int


class Comparison:
    """One model, its pages, and the findings."""

    def __init__(
        self, loaded: LoadedModel, readings: Sequence[Reading], found: Findings, args: argparse.Namespace
    ) -> None:
        self._loaded, self._found, self._args = loaded, found, args
        self._readings = readings

    def refer(self) -> None:
        """Has generate read the pages it has not read yet."""
        missing = [one for one in self._readings if one.name not in self._found.references]
        if not missing:
            return
        reference, started = GenerateReference(self._loaded), time.monotonic()
        for number, (one, read) in enumerate(self._generated(reference, missing, self._args.reference_batch)):
            self._found.references[one.name] = read
            self._found.save()
            spent = time.monotonic() - started
            print(
                f"reference {number + 1}/{len(missing)} {spent:.0f} s  {one.name}: {len(read.tokens)}",
                flush=True,
            )
        self._found.save(now=True)

    def run(self, engine: str, slots: int) -> bool:
        """Has an engine read the pages it has not read yet with this many slots.

        Returns False if it cannot run here.
        """
        name = f"{engine}@{slots}"
        done = self._found.runs.setdefault(name, {})
        left = _in_order([one for one in self._readings if one.name not in done], slots)
        started, steps, stepped = time.monotonic(), 0, 0
        try:
            for one, read in self._read(engine, slots, left):
                wanted = self._found.references[one.name]
                done[one.name] = first_difference(wanted, read.tokens, read.finish, self._loaded.eos_id)
                steps += read.steps
                stepped += max(len(read.tokens) + (read.finish == "eos") - 1, 0)
                self._found.save()
        except RuntimeError as error:
            print(f"{name}: failed: {type(error).__name__}: {error}", flush=True)
            return False
        self._found.save(now=True)
        equal = sum(difference is None for difference in done.values())
        rate = f", {stepped / steps:.2f} tokens a step" if steps else ""
        print(f"{name}: {equal} of {len(done)} equal, {time.monotonic() - started:.0f} s{rate}", flush=True)
        return True

    def _read(self, engine: str, slots: int, left: list[Reading]) -> Iterator[tuple[Reading, "Read"]]:
        if not left:
            return
        if engine == GENERATE:
            for one, found in self._generated(GenerateReference(self._loaded), left, slots):
                yield one, Read(tokens=found.tokens, finish=found.finish, steps=len(found.chosen) - 1)
            return
        reader = ReadingEngine(engine, self._loaded, slots=slots, max_tokens=self._most_tokens())
        requests = [request_of(self._loaded, one, self._args.cap) for one in left]
        for page in reader.read(with_pauses(requests) if slots == 3 else requests):
            transcript = page.transcript
            read = Read(tokens=transcript.token_ids, finish=transcript.finish, steps=page.num_steps)
            yield left[page.index], read
        reader.close()

    def _generated(
        self, reference: GenerateReference, readings: Sequence[Reading], batch: int
    ) -> Iterator[tuple[Reading, Reference]]:
        for start in range(0, len(readings), batch):
            some = readings[start : start + batch]
            yield from zip(
                some,
                reference.read([request_of(self._loaded, one, self._args.cap) for one in some]),
                strict=True,
            )

    def _most_tokens(self) -> int:
        return max(num_prompt_tokens(self._loaded, one) for one in self._readings) + int(self._args.cap)

    def report(self) -> bool:
        """Prints all findings; returns whether every difference is allowed."""
        found, wanted = self._found, self._found.references
        names = [one.name for one in self._readings]
        ends = Counter(wanted[name].finish for name in names)
        print(
            f"\n{len(names)} pages, {sum(len(wanted[name].tokens) for name in names)} tokens; ends: {dict(ends)}"
        )
        gaps = self._gaps() if found.settings["dtype"] != "float32" else {}
        if gaps:
            print(*rounding_lines(list(gaps.values())), sep="\n")
        most_moved = max((float(page.moved.max()) for page in gaps.values()), default=0.0)
        fine = True
        for run, pages in found.runs.items():
            differing = {name: one for name, one in pages.items() if one is not None}
            told = {name: self._told(name, one, gaps.get(name)) for name, one in differing.items()}
            allowed = [_is_allowed(one, told[name], most_moved) for name, one in differing.items()]
            fine &= all(allowed)
            print(
                f"{run}: pages equal {len(pages) - len(differing)} of {len(pages)}, differences not allowed "
                f"{len(allowed) - sum(allowed)}"
            )
            for name, line in told.items():
                print(f"  {name}: {line.text}")
        return fine

    def _gaps(self) -> dict[str, PageGaps]:
        """Returns rounding's effect on the choices of every page."""
        precise = GenerateReference(self._loaded, torch.float32)
        return {
            one.name: measure(
                precise, request_of(self._loaded, one, self._args.cap), self._found.references[one.name]
            )
            for one in self._readings
        }

    def _told(self, name: str, one: Difference, gaps: PageGaps | None) -> "Told":
        """Returns one difference in words, and its gap in fp32."""
        wanted = self._found.references[name]
        text = (
            f"token {one.position} of {len(wanted.tokens)}: {self._word(one.engine)} for "
            f"{self._word(one.reference)}"
        )
        text += ", gap " + ("none" if one.gap is None else f"{one.gap:.5f}")
        text += "" if one.is_second else ", not the reference's second"
        exact = gaps.between(one.position, one.reference, one.engine) if gaps else None
        if exact is not None:
            text += f", in fp32 {exact:+.4f}"
        return Told(text=text, exact=exact)

    def _word(self, token: int | None) -> str:
        if token is None:
            return "the end"
        return repr(self._loaded.tokenizer.decode([token], skip_special_tokens=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A difference in words.

    exact: how much likelier the reference's token is in fp32 than the engine's, if measured.
    """

    text: str
    exact: float | None


def _is_allowed(one: Difference, told: Told, most_moved: float) -> bool:
    return one.is_allowed or (told.exact is not None and abs(told.exact) <= most_moved)


def _in_order(readings: list[Reading], slots: int) -> list[Reading]:
    """Returns the readings as they come with one slot; else shuffled, by the number of slots."""
    if slots > 1:
        random.Random(slots).shuffle(readings)
    return readings


def main(arguments: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    torch.set_num_threads(args.threads)
    settings = {
        "device": args.device,
        "dtype": args.dtype,
        "cap": args.cap,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    found = Findings(args.output, settings, again=args.again)
    loaded = checkpoint.load(args.model, device=args.device, dtype=getattr(torch, args.dtype))
    comparison = Comparison(loaded, readings(loaded, args.docs, args.pages), found, args)
    comparison.refer()
    ran = [
        comparison.run(engine, int(slots))
        for slots in args.slots.split(",")
        for engine in args.engines.split(",")
    ]
    return 0 if comparison.report() and all(ran) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.tokens.equality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("output", type=Path, metavar="OUT.json")
    parser.add_argument("docs", nargs="+", metavar="DOCS")
    parser.add_argument("--pages", type=int, default=50, help="how many (default: 50)")
    parser.add_argument("--model", default="small")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--cap", type=int, default=700, help="most tokens of a page (default: 700)")
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch (default: 1)")
    parser.add_argument(
        "--engines", default=",".join(ENGINES), help=f"of {', '.join((*ENGINES, GENERATE))} (default: ours)"
    )
    parser.add_argument("--slots", default="8,3,1", help="pages at once (default: 8,3,1)")
    parser.add_argument("--reference-batch", type=int, default=1, help="pages of one generate (default: 1)")
    parser.add_argument("--again", action="store_true", help="forget what our engines read earlier")
    return parser


if __name__ == "__main__":
    sys.exit(main())
