"""Checks that our engines write the tokens of transformers' greedy `generate`, one by one, on real pages.

python -m tests.benchmarks.tokens.equality DOCS --pages 50
python -m tests.benchmarks.tokens.equality DOCS --device cuda --dtype bfloat16 --reference-batch 8

Each engine reads all pages with 1, 3 and 8 slots, in another order each time; with 3 the source pauses now and then,
like an encoder that does not keep up. DOCS: PDFs, images, or folders of them. A difference is allowed if the two
likeliest allowed tokens of the reference are within 1e-3. In bf16, where products of other batch shapes are summed in
another order, it is also allowed if both are no further apart in fp32, with the same weights, than rounding moved the
gap of any choice. Exits with 1 if a difference is not allowed.

Shapes: T tokens chosen, V vocabulary.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from encoders.types import VisionTokens
from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.decoding.gpu.reader import PagedReader
from ocr.decoding.gpu.schedule.entries import EngineSettings
from ocr.decoding.requests import PageRead, PageRequest
from ocr.decoding.sequence.page_reading import settings_for
from ocr.model.prompt import encode_prompt
from pipeline.bench.real_pages import first_pages
from pipeline.documents.settings import TileSettings
from pipeline.types import Kind
from tests.benchmarks.tokens.generate_reference import GenerateReference, Reference

ENGINES = ("engine", "paged")
TOLERANCE = 1e-3  # of fp32 logits: closer ones may come out in either order


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A page to decode. name: of its file, with the page's number."""

    name: str
    kind: Kind
    vision: VisionTokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first difference of a page. reference, engine: the tokens, the end of the text as its id, None for an end for
    another reason. gap: between the two likeliest allowed logits of the reference, None if it chose nothing.
    """

    position: int
    reference: int | None
    engine: int | None
    gap: float | None
    is_second: bool


def first_difference(wanted: Reference, tokens: Sequence[int], finish: str, eos_id: int) -> Difference | None:
    """Returns the first difference, None if all tokens and the end are the same."""
    if list(tokens) == wanted.tokens and finish == wanted.finish:
        return None
    pairs = zip(tokens, wanted.tokens, strict=False)
    shorter = min(len(tokens), len(wanted.tokens))
    position = next((place for place, (ours, theirs) in enumerate(pairs) if ours != theirs), shorter)
    chose = position < len(wanted.gaps)
    ours = _at(tokens, finish, position, eos_id)
    return Difference(
        position=position,
        reference=_at(wanted.tokens, wanted.finish, position, eos_id),
        engine=ours,
        gap=wanted.gaps[position] if chose else None,
        is_second=chose and ours == wanted.seconds[position],
    )


def _at(tokens: Sequence[int], finish: str, position: int, eos_id: int) -> int | None:
    if position < len(tokens):
        return tokens[position]
    return eos_id if finish == "eos" else None


@torch.inference_mode()
def readings(loaded: LoadedModel, paths: Sequence[str], count: int) -> list[Reading]:
    """Returns the first pages of files and folders that are not blank. Raises: ConfigError where there is none."""
    return [
        Reading(
            name=f"{Path(rendered.page.path).name}-{rendered.page.page_number}",
            kind=rendered.page.kind,
            vision=loaded.model.encoder.encode([rendered.views])[0],
        )
        for rendered in first_pages(paths, TileSettings(), count, "DOCS")
    ]


def request_of(loaded: LoadedModel, reading: Reading, cap: int) -> PageRequest:
    """Returns a run's request, but with at most `cap` tokens of output."""
    limits, ids = (
        settings_for(reading.kind),
        encode_prompt(loaded.tokenizer, loaded.prompt, bos_id=loaded.bos_id),
    )
    most = len(ids) + len(reading.vision.tokens_TD) + cap
    return PageRequest(
        vision=reading.vision, settings=replace(limits, max_tokens=min(limits.max_tokens, most))
    )


def read(name: str, loaded: LoadedModel, requests: Sequence[PageRequest], slots: int) -> Iterator[PageRead]:
    """Yields the pages as one of ENGINES finishes them. Raises: ocr.decoding.gpu.reader.UnusableError."""
    coming = with_pauses(requests) if slots == 3 else requests
    if name == "engine":
        yield from loaded.engine(prompt=loaded.prompt, num_slots=slots).read(coming)
        return
    most = max(request.settings.max_tokens for request in requests)
    if loaded.device.type == "cuda":
        paged = PagedReader.open(loaded, prompt=loaded.prompt, slots=slots, max_tokens=most)
    else:  # without its kernels, as no run uses it there
        paged = PagedReader(loaded, EngineSettings(slots=slots, max_tokens=most), loaded.prompt)
    yield from paged.read(coming)
    paged.close()


def with_pauses(requests: Sequence[PageRequest], every: int = 3) -> Iterator[PageRequest | None]:
    """Yields the requests with a None before every third: nothing is ready then."""
    for number, request in enumerate(requests):
        if number % every == 0:
            yield None
        yield request


class Comparison:
    """Pages, what generate reads on them, and fp32 logits [T, V] of its choices where it read in another format."""

    def __init__(self, loaded: LoadedModel, pages: Sequence[Reading], cap: int, batch: int) -> None:
        self._loaded, self._names = loaded, [page.name for page in pages]
        self._requests = [request_of(loaded, page, cap) for page in pages]
        reference = GenerateReference(loaded)
        self.wanted: list[Reference] = []
        for start in range(0, len(pages), batch):
            self.wanted += reference.read(self._requests[start : start + batch])
        self._exact: list[Tensor] | None = None
        self._most_moved = 0.0
        if loaded.model.dtype != torch.float32:
            del reference
            precise = GenerateReference(loaded, torch.float32)
            self._exact = [
                precise.logits(request, page.chosen).cpu()
                for request, page in zip(self._requests, self.wanted, strict=True)
            ]

    def rounding_lines(self) -> Iterator[str]:
        """Yields lines on how far rounding moves the gap of the two likeliest tokens, and what that can change."""
        if self._exact is None:
            return
        exact = torch.cat([self._gaps(*page) for page in zip(self._exact, self.wanted, strict=True)])
        moved = (torch.tensor([gap for page in self.wanted for gap in page.gaps]) - exact).abs()
        self._most_moved = float(moved.max())
        usual, much = (float(moved.quantile(share)) for share in (0.5, 0.99))
        yield (
            f"rounding moves the gap of the two likeliest tokens by {usual:.3f} (median), {much:.3f} (99%), "
            f"{self._most_moved:.3f} (most), over {len(moved)} choices"
        )
        for limit in (usual, much):
            yield f"choices whose gap in fp32 is under {limit:.3f}: {int((exact.abs() < limit).sum())}"
        yield f"choices that fp32 would make otherwise, after the same text: {int((exact < 0).sum())}"

    def compare(self, engine: str, slots: int) -> tuple[int, list[str]]:
        """Returns how many pages an engine reads otherwise than it may, and a line on each that differs."""
        order = list(range(len(self._requests)))
        if slots > 1:
            random.Random(slots).shuffle(order)
        bad, lines = 0, []
        for page in read(engine, self._loaded, [self._requests[number] for number in order], slots):
            number, transcript = order[page.index], page.transcript
            wanted = self.wanted[number]
            found = first_difference(wanted, transcript.token_ids, transcript.finish, self._loaded.eos_id)
            if found is not None:
                exact = self._between(number, found)
                bad += not self._is_allowed(found, exact)
                lines.append(f"  {self._names[number]}: {self._told(wanted, found, exact)}")
        return bad, lines

    @staticmethod
    def _gaps(logits_TV: Tensor, read: Reference) -> Tensor:
        chosen_T2 = logits_TV.gather(1, torch.tensor([read.chosen, read.seconds]).T)
        return chosen_T2[:, 0] - chosen_T2[:, 1]

    def _between(self, number: int, found: Difference) -> float | None:
        """Returns how much likelier the reference's token is in fp32 than the engine's; None if that is not known."""
        if self._exact is None or found.reference is None or found.engine is None:
            return None
        logits_TV = self._exact[number]
        if found.position >= len(logits_TV):
            return None
        return float(logits_TV[found.position, found.reference] - logits_TV[found.position, found.engine])

    def _is_allowed(self, found: Difference, exact: float | None) -> bool:
        is_close = found.gap is not None and found.gap <= TOLERANCE
        return is_close or (exact is not None and abs(exact) <= self._most_moved)

    def _told(self, wanted: Reference, found: Difference, exact: float | None) -> str:
        text = (
            f"token {found.position} of {len(wanted.tokens)}: {self._word(found.engine)} for "
            f"{self._word(found.reference)}, gap " + ("none" if found.gap is None else f"{found.gap:.5f}")
        )
        text += "" if found.is_second else ", not the reference's second"
        return text + ("" if exact is None else f", in fp32 {exact:+.4f}")

    def _word(self, token: int | None) -> str:
        return (
            "the end"
            if token is None
            else repr(self._loaded.tokenizer.decode([token], skip_special_tokens=False))
        )


def main(arguments: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    torch.set_num_threads(args.threads)
    loaded = checkpoint.load(args.model, device=args.device, dtype=getattr(torch, args.dtype))
    comparison = Comparison(loaded, readings(loaded, args.docs, args.pages), args.cap, args.reference_batch)
    wanted = comparison.wanted
    ends = Counter(page.finish for page in wanted)
    print(f"{len(wanted)} pages, {sum(len(page.tokens) for page in wanted)} tokens; ends: {dict(ends)}")
    print(*comparison.rounding_lines(), sep="\n")
    num_bad = 0
    for slots in map(int, args.slots.split(",")):
        for engine in args.engines.split(","):
            bad, lines = comparison.compare(engine, slots)
            num_bad += bad
            equal = f"pages equal {len(wanted) - len(lines)} of {len(wanted)}"
            print(f"{engine}@{slots}: {equal}, differences not allowed {bad}", *lines, sep="\n", flush=True)
    return 1 if num_bad else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.tokens.equality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("docs", nargs="+", metavar="DOCS")
    parser.add_argument("--pages", type=int, default=50, help="how many (default: 50)")
    parser.add_argument("--model", default="small")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--cap", type=int, default=700, help="most tokens of a page (default: 700)")
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch (default: 1)")
    parser.add_argument(
        "--engines", default=",".join(ENGINES), help=f"of {', '.join(ENGINES)} (default: both)"
    )
    parser.add_argument("--slots", default="8,3,1", help="pages at once (default: 8,3,1)")
    parser.add_argument("--reference-batch", type=int, default=1, help="pages of one generate (default: 1)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
