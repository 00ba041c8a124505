"""Selects the pages of a document to read: `--pages 1-3,7` and the limit per document."""

import re
from collections.abc import Sequence

_OPEN_END = 2**31
_RANGE = re.compile(r"([0-9]{1,9})(-([0-9]{1,9})?)?")


def parse_pages(text: str) -> list[tuple[int, int]]:
    """Returns the inclusive 1-based ranges in "1-3,7"; an open end ("5-") runs to a document's last page.

    Raises: ValueError naming the part that is not a page or a range.
    """
    return [_parse_range(part.strip()) for part in text.split(",")]


def select_pages(num_pages: int, pages: str | None, limit: int | None) -> tuple[list[int], int]:
    """Returns the 0-based indexes to read, in order, and how many selected pages `limit` leaves out.

    Pages that `pages` does not name do not count as left out: they were not asked for.
    """
    wanted: Sequence[int] = range(num_pages)
    if pages is not None:
        ranges = parse_pages(pages)
        wanted = [index for index in wanted if any(a <= index + 1 <= b for a, b in ranges)]
    chosen = list(wanted if limit is None else wanted[:limit])
    return chosen, len(wanted) - len(chosen)


def _parse_range(part: str) -> tuple[int, int]:
    if (found := _RANGE.fullmatch(part)) is not None:
        start = int(found[1])
        end = int(found[3]) if found[3] else _OPEN_END if found[2] else start
        if 1 <= start <= end:
            return start, end
    raise ValueError(f"{part!r} is neither a page nor a range; write pages as 1-3,7")
