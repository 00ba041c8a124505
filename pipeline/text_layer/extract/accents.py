"""Joins accents that a PDF draws as characters of their own with their letters, as TeX's older fonts do. Torch-free."""

import unicodedata
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from pipeline.text_layer.extract.spans import Glyph, Span

_MARKS = dict(
    zip("¨´`ˆ˜ˇ˘¯˙˚˝¸˛^~", map(chr, (
        0x308, 0x301, 0x300, 0x302, 0x303, 0x30C, 0x306, 0x304, 0x307, 0x30A, 0x30B, 0x327, 0x328, 0x302, 0x303,
    )), strict=True)
)  # fmt: skip
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
            chars[letter] = _joined(char, chars[letter])
            for between in range(min(place, letter + 1), max(place + 1, letter)):
                chars[between] = None
            changed |= {owners[place], owners[letter]}
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
    place += step
    while 0 <= place < len(chars):
        char = chars[place]
        if char is not None and not char.text.isspace():
            return place
        place += step
    return None


def _joined(accent: Glyph, letter: Glyph | None) -> Glyph | None:
    """Returns the letter with the accent; None where it is not over the letter, or there is no such letter."""
    if letter is None or _apart(accent, letter) > 0.5 + _BESIDE:
        return None
    if min(accent.box[3], letter.box[3]) <= max(accent.box[1], letter.box[1]):
        return None
    text = unicodedata.normalize("NFC", _DOTTED.get(letter.text, letter.text) + _MARKS[accent.text])
    return Glyph(text=text, box=letter.box) if len(text) == 1 else None


def _apart(accent: Glyph, letter: Glyph | None) -> float:
    """Returns how far their middles are apart, in widths of the letter."""
    assert letter is not None, "only what is there is compared"
    width = max(letter.box[2] - letter.box[0], 1e-3)
    return abs(accent.middle[0] - letter.middle[0]) / width
