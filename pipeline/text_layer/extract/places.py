"""Puts text that a PDF draws late to where it stands: values of forms, and what is written over something.

Torch-free.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import pymupdf

from pipeline.text_layer.extract.spans import Box, Span

_SAME_ROW = 0.5  # in type sizes
_MOSTLY = 0.5  # of a span's characters


def written_in(page: Any) -> list[Box]:
    """Returns the boxes of a page's filled fields and of notes typed onto it, in points of the page as shown.

    page: a pymupdf Page. Raises: whatever MuPDF does.
    """
    found: list[Any] = [] if page.first_widget is None else list(page.widgets())
    if page.first_annot is not None:
        found += page.annots(types=[pymupdf.PDF_ANNOT_FREE_TEXT])
    return [tuple(one.rect) for one in found]


def settled(spans: Sequence[Span], boxes: Iterable[Box]) -> tuple[Span, ...]:
    """Returns the spans with those in one of the boxes beside, or below, what else is printed there."""
    places = list(boxes)
    late = [span for span in spans if span.glyphs and any(_is_in(span, box) for box in places)]
    if not late or len(late) == len(spans):
        return tuple(spans)
    numbers = {id(span) for span in late}
    found = [span for span in spans if id(span) not in numbers]
    for span in late:
        found.insert(_place(span, found), span)
    return tuple(found)


def _is_in(span: Span, box: Box) -> bool:
    x0, y0, x1, y1 = box
    inside = sum(x0 <= x <= x1 and y0 <= y <= y1 for x, y in (char.middle for char in span.glyphs))
    return inside > _MOSTLY * len(span.glyphs)


def _place(span: Span, others: Sequence[Span]) -> int:
    """Returns before which of the others a span belongs: after what is left of it, before what is right, or below."""
    row = [
        (number, other)
        for number, other in enumerate(others)
        if abs(other.line.base - span.line.base) < _SAME_ROW * max(other.line.size, span.line.size)
    ]
    before = [(other.line.x1, number) for number, other in row if other.line.x0 < span.line.x0]
    if before:
        return max(before)[1] + 1
    if row:
        return min((other.line.x0, number) for number, other in row)[1]
    above = [
        (other.line.base, number) for number, other in enumerate(others) if other.line.base < span.line.base
    ]
    beside = [
        (base, number)
        for base, number in above
        if others[number].line.x0 < span.line.x1 and span.line.x0 < others[number].line.x1
    ]
    return max(beside or above)[1] + 1 if above else 0
