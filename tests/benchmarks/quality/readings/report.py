"""Formats the figures as plain text, at most 110 columns wide."""

from collections.abc import Iterable, Sequence

from tests.benchmarks.quality.scoring.summary import ALL, WRONG, Row, SetSummary

_HEAD = (
    "category",
    "engine",
    "pages",
    "CER",
    "folded",
    "median",
    "WER",
    "word F1",
    "skips",
    "loops",
    "broken",
    "tau",
    "moved",
)
_COSTS = (
    "set",
    "engine",
    "pages",
    "CPU s/page",
    "wall s/page",
    "load s",
    "peak MiB",
    "empty pages",
    "invented",
)
NOTES = (
    "CER, WER: edits / length over all pages; folded: CER with look-alike punctuation and leaders as one;",
    f"median: of the pages' CER. Rates in per cent. '{ALL}' leaves out pages without text. skips: runs of 80",
    "characters missing, loops: runs of 200 too many or status repeated; broken: pages with either.",
    "tau: Kendall's of the order of lines found in both, the pages' mean; moved: pages where it is below 1.",
    "Costs hold process start and loading. invented: pages without text on which something was read.",
)


def set_lines(summaries: Sequence[SetSummary]) -> list[str]:
    """Returns the table of one set: the engines below each other in every category."""
    by_engine = [{row.category: row for row in summary.rows} for summary in summaries]
    categories = list(dict.fromkeys(name for rows in by_engine for name in rows))
    categories.sort(key=lambda name: name == ALL)
    cells = [
        _cells(summary.engine, rows[category], first=index == 0)
        for category in categories
        for index, (summary, rows) in enumerate(zip(summaries, by_engine, strict=True))
        if category in rows
    ]
    return [f"== {summaries[0].set_name}", *_table(_HEAD, cells, num_names=2)]


def cost_lines(summaries: Iterable[SetSummary]) -> list[str]:
    """Returns the table of costs and of pages without text, for all sets."""
    cells = [
        (
            summary.set_name,
            summary.engine,
            str(summary.num_read),
            _number(summary.cpu_s, 2),
            _number(summary.wall_s, 2),
            _number(summary.load_s, 1),
            _number(summary.peak_mb, 0),
            str(summary.num_empty),
            str(summary.num_invented),
        )
        for summary in summaries
    ]
    return ["== cost, and pages without text", *_table(_COSTS, cells, num_names=2)]


def markdown_lines(summaries: Sequence[SetSummary]) -> list[str]:
    """Returns the table of one set for a document: for every kind all engines in a cell, in per cent.

    CPU seconds, start included, are those of the whole set, and stand in its last row.
    """
    engines = " / ".join(summary.engine for summary in summaries)
    lines = [
        f"| {summaries[0].set_name} ({engines}) | pages | wrong | median page | words F1 | CPU s a page "
        f"| ok, but more than {WRONG:.0%} wrong |",
        "|---|---|---|---|---|---|---|",
    ]
    for rows in zip(*(summary.rows for summary in summaries), strict=True):
        last = rows[0].category == ALL
        cells = [
            rows[0].category,
            str(rows[0].num_pages),
            _beside(_percent(row.cer) for row in rows),
            _beside(_percent(row.median_cer) for row in rows),
            _beside(_percent(row.f1) for row in rows),
            _beside(_number(summary.cpu_s, 1) for summary in summaries) if last else "",
            _beside(str(summary.num_wrong_ok) for summary in summaries) if last else "",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _cells(engine: str, row: Row, first: bool) -> tuple[str, ...]:
    return (
        row.category if first else "",
        engine,
        str(row.num_pages),
        _percent(row.cer),
        _percent(row.folded_cer),
        _percent(row.median_cer),
        _percent(row.wer),
        _percent(row.f1),
        str(row.num_skips),
        str(row.num_loops),
        f"{row.num_broken_pages} ({100 * row.broken_share:.0f}%)",
        _number(row.tau, 3),
        str(row.num_moved),
    )


def _table(head: Sequence[str], cells: Sequence[Sequence[str]], num_names: int) -> list[str]:
    """Returns the table; the first `num_names` columns are left-aligned, numbers right-aligned."""
    widths = [max(len(row[column]) for row in (head, *cells)) for column in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(width) if column < num_names else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (head, *cells)
    ]
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]


def _beside(values: Iterable[str]) -> str:
    return " / ".join(values)


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2f}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
