"""Prints how the pages of two databases or runs differ."""

from collections.abc import Iterator

from storage.queries.comparison import Comparison


def comparison_lines(found: Comparison) -> Iterator[str]:
    """Yields the counts, changes of status, the pages that changed most, and each stage's time on both sides."""
    changed = f", half of them in {found.median_share:.1%} of the characters or more" if found.changed else ""
    yield f"pages on both sides: {found.same} with the same text, {found.changed} with another{changed}"
    for (before, after), number in found.statuses.items():
        yield f"  {before} -> {after}: {number}"
    for name, number, pages in (("lost", found.num_lost, found.lost), ("new", found.num_new, found.new)):
        yield f"{name}: {number}"
        yield from (f"  {path}, page {page}" for path, page in pages)
    if found.most_changed:
        yield "changed most:"
    for change in found.most_changed:
        status = change.after if change.before == change.after else f"{change.before} -> {change.after}"
        yield f"  {change.share:6.1%}  {change.path}, page {change.page} ({status})"
    if found.stages:
        yield f"{'seconds a page':<16}{'before':>10}{'after':>10}"
    for stage, (first, second) in found.stages.items():
        yield f"{stage:<16}{_seconds(first):>10}{_seconds(second):>10}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
