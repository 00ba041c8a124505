"""Sums up scores: by category, and over all pages of print."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from pipeline.evaluate import Edits
from tests.benchmarks.quality.readings.engines import SetReading
from tests.benchmarks.quality.scoring.scores import Score, Words
from tests.benchmarks.quality.sets.layout import HANDWRITING

ALL = "all"  # the row of all pages with print
WRONG = 0.3  # of a page's characters: more than that should not be called ok


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Figures of one category. Rates are fractions of 1; cer and f1 weight pages by length."""

    category: str
    num_pages: int
    cer: float
    folded_cer: float
    median_cer: float
    f1: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSummary:
    """A set read by one engine. rows: by category, then `ALL`. Costs are per page, over all pages read.

    num_wrong_ok: pages with the status "ok" of which more than WRONG is wrong, handwriting included.
    """

    set_name: str
    engine: str
    rows: tuple[Row, ...]
    num_wrong_ok: int
    num_read: int
    cpu_s: float | None
    wall_s: float | None


def summarise(set_name: str, reading: SetReading, scores: Sequence[Score]) -> SetSummary:
    """Returns the summary of a set; scores are those of its pages, at least one."""
    categories = sorted({score.category for score in scores})
    rows = [_row(name, [score for score in scores if score.category == name]) for name in categories]
    if printed := [score for score in scores if score.category != HANDWRITING]:
        rows.append(_row(ALL, printed))
    return SetSummary(
        set_name=set_name,
        engine=reading.engine,
        rows=tuple(rows),
        num_wrong_ok=sum(score.status == "ok" and score.characters.rate > WRONG for score in scores),
        num_read=len(scores),
        cpu_s=_each(reading.cpu_s, len(scores)),
        wall_s=_each(reading.wall_s, len(reading.pages)),
    )


def as_dict(summary: SetSummary, scores: Iterable[Score]) -> dict[str, Any]:
    """Returns the JSON file's content on a set: the summary, and every page."""
    pages = [{**asdict(score), "cer": score.characters.rate, "f1": score.bag.f1} for score in scores]
    return {**asdict(summary), "pages": pages}


def _row(category: str, scores: Sequence[Score]) -> Row:
    return Row(
        category=category,
        num_pages=len(scores),
        cer=_rate(score.characters for score in scores),
        folded_cer=_rate(score.folded for score in scores),
        median_cer=median(score.characters.rate for score in scores),
        f1=_f1(score.bag for score in scores),
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
