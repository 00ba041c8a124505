"""Prints the scores of `ocrbatch bench public`."""

from collections.abc import Iterator

from pipeline.bench.public.olmocr_bench import FactScores
from pipeline.bench.public.omni_doc_bench import PageScores

_FAULTS = 5


def lines(result: FactScores | PageScores) -> Iterator[str]:
    """Yields the scores and what they leave out."""
    yield from _facts(result) if isinstance(result, FactScores) else _pages(result)
    yield from (f"left out: {fault}" for fault in result.faults[:_FAULTS])
    if len(result.faults) > _FAULTS:
        yield f"left out: {len(result.faults) - _FAULTS} more"


def _facts(result: FactScores) -> Iterator[str]:
    interval = f"95% interval {result.low:.1%} to {result.high:.1%}"
    yield f"olmOCR-bench: {result.score:.1%}, {interval} (mean of the files below)"
    for title, shares in (("file", result.files), ("type", result.types)):
        for name, share in shares.items():
            yield f"  {title} {name}: {share.score:.1%} ({share.held} of {share.judged})"
    for name, count in result.not_judged.items():
        yield f"not judged: {count} facts of type {name}, which are compared as KaTeX draws them"
    if result.num_missing:
        yield f"not read: {result.num_missing} pages of facts, which count as not holding"


def _pages(result: PageScores) -> Iterator[str]:
    yield f"OmniDocBench, {len(result.pages)} pages (compared whole: not the leaderboard's pairing of blocks)"
    yield f"  text, normalised edit distance: {_told(result.text)}"
    yield f"  reading order, normalised edit distance: {_told(result.order)}"
    num_tables = sum(len(page.tables) for page in result.pages)
    yield f"  {num_tables} tables, TEDS: {_told(result.tables)}"
    if result.num_formulas:
        yield f"not scored: {result.num_formulas} formulas, which are compared as LaTeX draws them"
    if result.num_large:
        yield f"not scored: {result.num_large} tables with very many cells"
    if result.missing:
        such = result.missing[0]
        yield f"not read: {len(result.missing)} pages, which count as read without any text, such as {such}"


def _told(score: float | None) -> str:
    return "none" if score is None else f"{score:.3f}"
