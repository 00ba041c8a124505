"""Puts what a PDF draws apart to where it stands: values of forms, what is written over something, accents.

Accents that are characters of their own join their letters, as TeX's older fonts draw them.

Torch-free.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import pymupdf

from pipeline.text_layer.extract.spans import Box, Glyph, Span, holds

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
    late = [
        span
        for span in spans
        for least in [_MOSTLY * len(span.glyphs)]
        if any(sum(holds(box, char.middle) for char in span.glyphs) > least for box in places)
    ]
    if not late or len(late) == len(spans):
        return tuple(spans)
    numbers = {id(span) for span in late}
    found = [span for span in spans if id(span) not in numbers]
    for span in late:
        found.insert(_place(span, found), span)
    return tuple(found)


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
        (it.line.base, number, it.line) for number, it in enumerate(others) if it.line.base < span.line.base
    ]
    beside = [it for it in above if it[2].x0 < span.line.x1 and span.line.x0 < it[2].x1]
    return max(beside or above, key=itemgetter(0, 1))[1] + 1 if above else 0


_MARKS = dict(
    zip("¨´`ˆ˜ˇ˘¯˙˚˝¸˛^~", map(chr, (
        0x308, 0x301, 0x300, 0x302, 0x303, 0x30C, 0x306, 0x304, 0x307, 0x30A, 0x30B, 0x327, 0x328, 0x302, 0x303,
    )), strict=True)
)  # fmt: skip
_MARKS["\u20dd"] = "\u20dd"  # a circle
_CIRCLED = {"c\u20dd": "©", "r\u20dd": "®", "R\u20dd": "®"}
_DOTTED = {"ı": "i", "ȷ": "j"}
_BESIDE = 0.15  # of a letter's width: how far outside of it the middle of its accent may be


def composed(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Returns the spans with each accent that stands over or under a neighbouring letter as part of it.

    An accent beside its neighbours, as in program code, stays.
    """
    if not any(mark in span.line.text for span in spans for mark in _MARKS):
        return tuple(spans)
    chars: list[Glyph | None] = [char for span in spans for char in span.chars]
    owners = [number for number, span in enumerate(spans) for _ in span.chars]
    changed: set[int] = set()
    for place, char in enumerate(chars):
        if char is None or char.text not in _MARKS or spans[owners[place]].is_turned:
            continue
        near = [other for step in (1, -1) if (other := _next(chars, place, step)) is not None]
        near = [other for other in near if _joined(char, chars[other]) is not None]
        if near:
            letter = min(near, key=lambda other: _apart(char, chars[other]))
            chars[letter] = joined = _joined(char, chars[letter])
            first, end = min(place, letter + 1), max(place + 1, letter)
            while first and _is_blank_in(joined, chars[first - 1]):  # MuPDF's, for the way to the accent
                first -= 1
            chars[first:end] = [None] * (end - first)
            changed |= {owners[letter], *owners[first:end]}
    if not changed:
        return tuple(spans)
    kept = {
        number: [char for _, char in group if char is not None]
        for number, group in groupby(zip(owners, chars, strict=True), key=itemgetter(0))
    }
    return tuple(
        span if number not in changed else span.of(kept[number])
        for number, span in enumerate(spans)
        if number not in changed or kept[number]
    )


def _next(chars: Sequence[Glyph | None], place: int, step: int) -> int | None:
    """Returns the place of the next character that is no space."""
    places = range(place + step, len(chars) if step > 0 else -1, step)
    return next((at for at in places if (char := chars[at]) is not None and not char.text.isspace()), None)


def _joined(accent: Glyph, letter: Glyph | None) -> Glyph | None:
    """Returns the letter with the accent; None where it is not over the letter, or there is no such letter."""
    if letter is None or _apart(accent, letter) > 0.5 + _BESIDE:
        return None
    if min(accent.box[3], letter.box[3]) <= max(accent.box[1], letter.box[1]):
        return None
    text = unicodedata.normalize("NFC", _DOTTED.get(letter.text, letter.text) + _MARKS[accent.text])
    text = _CIRCLED.get(text, text)
    return Glyph(text=text, box=letter.box) if len(text) == 1 else None


def _is_blank_in(letter: Glyph | None, char: Glyph | None) -> bool:
    """Returns whether a character is a space where a letter stands."""
    return letter is not None and char is not None and char.text.isspace() and holds(letter.box, char.middle)


def _apart(accent: Glyph, letter: Glyph | None) -> float:
    """Returns how far their middles are apart, in widths of the letter."""
    assert letter is not None, "only what is there is compared"
    width = max(letter.box[2] - letter.box[0], 1e-3)
    return abs(accent.middle[0] - letter.middle[0]) / width
