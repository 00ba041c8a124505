"""Classifies lines by their letters: items of a list, entries of an index, lines of a program."""

import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from ocr.paragraphs.text_lines import Line

_LONG, _FEW = 8, 3  # the least characters a line, and lines, by which the width of characters is judged
_SAME = 0.03  # the tolerance of the width of characters
_MOST = 0.6  # as a share of the lines
_UNEVEN = 1.3  # how much longer than the shortest line the longest must be
MARK = re.compile(r"[•◦▪■●○→✓★‣▶*+∗·□☐»–—-]\s|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]\s")
# Type sizes of headings relative to that of most of the page's text, and the most characters.
_TITLE, _SUB_TITLE, _LONGEST_HEADING = 1.5, 1.15, 200
_CURRENCY = r"(?:[€$£]|EUR|USD|CHF)"
# An amount of money at the end of a text; any number with two decimals may be one.
AMOUNT = re.compile(rf"(?:{_CURRENCY}\s?)?\d[\d.,]*[.,]\d\d(?:\s?{_CURRENCY})?$")
# No headings: marks; numbers of pages, entries of contents, clauses, formulas, programs; captions; sentences.
_NO_HEADING = re.compile(
    r"(?is)(?![^\W\d_]\Z|(?:.*[^\W\d_]){2}|.*[§\u2e80-\U0003ffff])|(?:.*\t|[ivxl])[ivxl]+\Z|.*(?:\t\d+|[,;])\Z|>|.*="
    r"|.*(?:[.·_…]\s?){4}|(?:fig(?:\.|ur[ae]?)|tab(?:\.|l[ae]|elle|leau|ela)|abb(?:\.|ildung))\s*\d|\D.{60}.*\.\Z"
)
_LEADER = re.compile(r"(?:[.·_…]\s?){4}")


def is_mono(lines: Sequence[Line]) -> bool:
    """Returns whether all characters have one width, in lines of different lengths."""
    long = [line for line in lines if len(line.text) >= _LONG]
    if len(long) < _FEW:
        return False
    middle = median([line.letter_px for line in long])
    alike = [line.x1 - line.x0 for line in long if abs(line.letter_px - middle) < _SAME * middle]
    return len(alike) > _MOST * len(long) and max(alike) > _UNEVEN * min(alike)


def is_numbered(lines: Sequence[Line]) -> bool:
    """Returns whether the lines are numbered consecutively, as those of programs are."""
    heads = [line.text.split()[0] for line in lines]
    numbers = [int(head) if head.isdecimal() else -2 for head in heads]
    return len(lines) > 1 and sum(b - a == 1 for a, b in pairwise(numbers)) >= (len(lines) - 1) / 2


def is_index(lines: Sequence[Line]) -> bool:
    """Returns whether most lines end with a number, as entries of an index or a table of contents do."""
    return sum(line.text[-1].isdigit() for line in lines) > _MOST * len(lines)


def is_list(lines: Sequence[Line]) -> bool:
    """Returns whether the lines are two or more list items with their continuation lines."""
    return item_mark(lines[0]) is not None and sum(item_mark(line) is not None for line in lines) > 1


def item_mark(line: Line) -> str | None:
    """Returns the mark of a list item: its bullet, or `1` for numbers and letters; None where it is no item."""
    if not MARK.match(line.text):
        return None
    first = line.text.lstrip("(")[0]
    return "1" if first.isalnum() else first


def has_leader(line: Line) -> bool:
    """Returns whether the line has a leader of dots or a rule, or a blank to be filled in."""
    return _LEADER.search(line.text) is not None


def is_sum(text: str) -> bool:
    """Returns whether a text ends with an amount of money, which no heading does: not with a section's number."""
    return (end := AMOUNT.search(text)) is not None and not end[0].replace(".", "", 1).isdigit()


def heading(text: str, size: float, body_size: float) -> str | None:
    """Returns the label of text in larger type than most of the page's; None for what is no heading."""
    label = "title" if size >= _TITLE * body_size else "sub_title"
    return label if size >= _SUB_TITLE * body_size > 0 and may_be_heading(text) else None


def may_be_heading(text: str) -> bool:
    """Returns whether a text may be a heading by its letters."""
    is_inside = text[:1].islower() and text[1:2] not in (".", ")")  # a sentence that goes on
    return not (is_inside or len(text) > _LONGEST_HEADING or is_sum(text) or _NO_HEADING.match(text))
