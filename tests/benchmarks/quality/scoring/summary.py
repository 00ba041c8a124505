"""Sums up scores: by category, over all pages with text, and of pages without."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, median
from typing import Any

from pipeline.evaluate import Edits
from tests.benchmarks.quality.readings.engines import SetReading
from tests.benchmarks.quality.scoring.scores import Score, Words
from tests.benchmarks.quality.sets.selection import CATEGORIES, EMPTY, HANDWRITING

ALL = "all"  # the row of all pages with print
WRONG = 0.3  # of a page's characters: more than that should not be called ok


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Figures of one category. Rates are fractions of 1; cer, wer and f1 weight pages by length.

    tau: the mean of the pages' line order, None if no page has enough lines. num_moved: pages below 1.
    """

    category: str
    num_pages: int
    cer: float
    folded_cer: float
    median_cer: float
    wer: float
    f1: float
    num_skips: int
    num_loops: int
    num_broken_pages: int
    tau: float | None
    num_moved: int

    @property
    def broken_share(self) -> float:
        return self.num_broken_pages / self.num_pages


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSummary:
    """A set read by one engine. rows: by category, then `ALL`. Costs are per page, over all pages read.

    num_invented: pages without text on which the engine read something, out of num_empty.
    num_wrong_ok: pages with the status "ok" of which more than WRONG is wrong, handwriting included.
    """

    set_name: str
    engine: str
    rows: tuple[Row, ...]
    num_empty: int
    num_invented: int
    num_wrong_ok: int
    num_read: int
    cpu_s: float | None
    wall_s: float | None
    load_s: float | None
    peak_mb: float | None


def summarise(set_name: str, reading: SetReading, scores: Sequence[Score]) -> SetSummary:
    """Returns the summary of a set; scores are those of its pages, at least one."""
    with_text = [score for score in scores if score.category != EMPTY]
    empty = [score for score in scores if score.category == EMPTY]
    found = sorted({score.category for score in with_text}, key=_place)
    rows = [_row(name, [score for score in with_text if score.category == name]) for name in found]
    if printed := [score for score in with_text if score.category != HANDWRITING]:
        rows.append(_row(ALL, printed))
    return SetSummary(
        set_name=set_name,
        engine=reading.engine,
        rows=tuple(rows),
        num_empty=len(empty),
        num_invented=sum(1 for score in empty if score.num_invented),
        num_wrong_ok=sum(score.status == "ok" and score.characters.rate > WRONG for score in with_text),
        num_read=len(scores),
        cpu_s=_each(reading.cpu_s, len(scores)),
        wall_s=_each(reading.wall_s, len(reading.pages)),
        load_s=reading.load_s,
        peak_mb=reading.peak_mb,
    )


def as_dict(summary: SetSummary, scores: Iterable[Score]) -> dict[str, Any]:
    """Returns the JSON file's content on a set: the summary, and every page."""
    pages = [
        {**asdict(score), "cer": score.characters.rate, "f1": score.bag.f1, "broken": score.broken}
        for score in scores
    ]
    return {**asdict(summary), "pages": pages}


def _place(category: str) -> tuple[int, str]:
    return (CATEGORIES.index(category) if category in CATEGORIES else len(CATEGORIES), category)


def _row(category: str, scores: Sequence[Score]) -> Row:
    taus = [score.tau for score in scores if score.tau is not None]
    return Row(
        category=category,
        num_pages=len(scores),
        cer=_rate(score.characters for score in scores),
        folded_cer=_rate(score.folded for score in scores),
        median_cer=median(score.characters.rate for score in scores),
        wer=_rate(score.words for score in scores),
        f1=_f1(score.bag for score in scores),
        num_skips=sum(score.num_skips for score in scores),
        num_loops=sum(score.num_loops for score in scores),
        num_broken_pages=sum(score.broken for score in scores),
        tau=mean(taus) if taus else None,
        num_moved=sum(tau < 1 for tau in taus),
    )


def _rate(parts: Iterable[Edits]) -> float:
    every = list(parts)
    return sum(part.num_edits for part in every) / max(sum(part.length for part in every), 1)


def _f1(bags: Iterable[Words]) -> float:
    every = list(bags)
    return Words(
        shared=sum(bag.shared for bag in every),
        in_truth=sum(bag.in_truth for bag in every),
        in_text=sum(bag.in_text for bag in every),
    ).f1


def _each(total: float | None, count: int) -> float | None:
    return None if total is None or not count else total / count
