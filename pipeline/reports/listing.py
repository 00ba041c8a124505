"""Writes files, pages, counts and durations in words, the same way in every report."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pipeline.ingest.selection import InputCounts

T = TypeVar("T")
# Most items of a list for people; programs get all.
LISTED = 20


def counted(counts: Mapping[str, int]) -> str:
    """Returns "3 ok, 1 failed", in the order of the counts; "" where there are none."""
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def page_counts(counts: Mapping[str, int]) -> list[str]:
    """Returns a line for each kind of pages of which there are any."""
    return [f"pages {kind}: {count}" for kind, count in counts.items() if count]


def passed_over(counts: "InputCounts", *, num_doubtful: int = 0) -> list[str]:
    """Returns a line for each kind of pages that a run does not read. num_doubtful: of those read before."""
    return page_counts(
        {
            "read before": counts.num_done_before,
            "in doubt since an earlier run": num_doubtful,
            "given up after repeated attempts": counts.num_given_up,
            "kept as read with other settings": counts.num_kept,
            "left out": counts.num_left_out,
        }
    )


def cut(items: Sequence[T]) -> tuple[Sequence[T], str]:
    """Returns the items that a list shows, and "and 5 more" for the others; "" where it shows all."""
    more = f"and {len(items) - LISTED} more" if len(items) > LISTED else ""
    return items[:LISTED], more


def page_name(path: str, number: int) -> str:
    """Returns a page's file and its 1-based number."""
    return f"{path}, page {number}"


def refusal(path: str, status: str, reason: str | None) -> str:
    """Returns the line of a file that cannot be read."""
    return f"{path}: {status}: {reason}"


def in_words(seconds: float) -> str:
    """Returns a duration in words: "40 s", "12 min" or "3 h 05 min"."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
