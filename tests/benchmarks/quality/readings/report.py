"""Formats the figures as tables of markdown, and how far a page's confidence is from the share of it that is right."""

from collections.abc import Iterable, Sequence

from ocr.training.calibrate.reliability import expected_error, table
from tests.benchmarks.quality.scoring.scores import Score
from tests.benchmarks.quality.scoring.summary import ALL, WRONG, SetSummary

_COSTS = ("set", "engine", "pages", "CPU s a page", "wall s a page")
NOTES = (
    "wrong: edits / length over all pages; folded: with look-alike punctuation and leaders as one. Rates in per cent;",
    f"'{ALL}' leaves out handwriting. Costs hold process start and loading.",
)


def set_lines(summaries: Sequence[SetSummary]) -> list[str]:
    """Returns the table of one set: for every kind all engines in a cell, in per cent.

    CPU seconds, start included, are those of the whole set, and stand in its last row.
    """
    engines = " / ".join(summary.engine for summary in summaries)
    head = (
        f"{summaries[0].set_name} ({engines})", "pages", "wrong", "folded", "median page", "words F1", "CPU s a page",
        f"ok, but more than {WRONG:.0%} wrong",
    )  # fmt: skip
    cells = []
    for rows in zip(*(summary.rows for summary in summaries), strict=True):
        last = rows[0].category == ALL
        cells.append((
            rows[0].category,
            str(rows[0].num_pages),
            _beside(_percent(row.cer) for row in rows),
            _beside(_percent(row.folded_cer) for row in rows),
            _beside(_percent(row.median_cer) for row in rows),
            _beside(_percent(row.f1) for row in rows),
            _beside(_number(summary.cpu_s, 1) for summary in summaries) if last else "",
            _beside(str(summary.num_wrong_ok) for summary in summaries) if last else "",
        ))  # fmt: skip
    return _table(head, cells)


def cost_lines(summaries: Iterable[SetSummary]) -> list[str]:
    """Returns the table of costs, for all sets."""
    cells = [
        (
            summary.set_name,
            summary.engine,
            str(summary.num_read),
            _number(summary.cpu_s, 2),
            _number(summary.wall_s, 2),
        )
        for summary in summaries
    ]
    return _table(_COSTS, cells)


def calibration_error(scores: Sequence[Score]) -> float:
    """Returns the expected calibration error of the pages that have a confidence, 0 where none has."""
    confidence, right = _rated(scores)
    return expected_error(confidence, right) if confidence else 0.0


def calibration_lines(set_name: str, scores: Sequence[Score]) -> list[str]:
    """Returns the reliability table of ocrbatch's page confidence."""
    confidence, right = _rated(scores)
    if not confidence:
        return [f"== {set_name}: no page has a confidence"]
    error = (
        f"expected calibration error {100 * calibration_error(scores):.1f} points, {len(confidence)} pages"
    )
    return [f"== {set_name}: ocrbatch's page confidence, {error}", *table(confidence, right)]


def _rated(scores: Sequence[Score]) -> tuple[list[float], list[float]]:
    """Returns the confidence of each page that has one, and the share of it that is right, 1 - min(1, CER)."""
    pages = [page for page in scores if page.confidence is not None]
    confidence = [page.confidence for page in pages if page.confidence is not None]
    return confidence, [1 - min(1.0, page.characters.rate) for page in pages]


def _table(head: Sequence[str], cells: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *cells)]


def _beside(values: Iterable[str]) -> str:
    return " / ".join(values)


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2f}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
