"""Leaves out of a text layer the lines with characters that map to no letter: these are to be read. Torch-free."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from pipeline.text_layer.extract.spans import Glyph, Span, parted_by
from pipeline.text_layer.extract.symbols import UNKNOWN

# The share of a typeface's characters without a meaning from which on no other of it is believed; and how many are few.
_OF_A_FONT, _FEW = 0.1, 2


def mapped(spans: Sequence[Span]) -> tuple[tuple[Span, ...], int, int]:
    """Returns the spans without lines that hold such words, how many characters are unmapped, and how many went.

    A symbol by itself goes alone.
    """
    unmapped, total = Counter[str](), Counter[str]()
    for span in spans:
        total[span.font] += len(span.glyphs)
        unmapped[span.font] += sum(map(_is_unmapped, span.glyphs))
    if not unmapped.total():
        return tuple(spans), 0, 0
    bad = {font for font, number in unmapped.items() if number > max(_FEW, _OF_A_FONT * total[font])}
    kept: list[Span] = []
    for line in parted_by("\n\t", spans):
        if not any(span.font in bad or _loses_words(span) for span in line):
            kept += (span if not unmapped[span.font] else _meaningful(span) for span in line)
    shown = tuple(span for span in kept if span.glyphs)
    return shown, unmapped.total(), total.total() - sum(len(span.glyphs) for span in shown)


def _is_unmapped(glyph: Glyph) -> bool:
    """Returns whether a character has no meaning: it is U+FFFD, a control character or for private use."""
    return glyph.text[0] == UNKNOWN or unicodedata.category(glyph.text[0]) in ("Co", "Cn", "Cc", "Cs")


def _loses_words(span: Span) -> bool:
    """Returns whether an unmapped character is part of a word or number."""
    words = (list(word) for is_space, word in groupby(span.chars, _is_space) if not is_space)
    return any(any(map(_is_unmapped, word)) and any(char.text.isalnum() for char in word) for word in words)


def _meaningful(span: Span) -> Span:
    """Returns the span without unmapped characters and the spaces after them."""
    chars: list[Glyph] = []
    for char in span.chars:
        if not _is_unmapped(char) and (chars or not _is_space(char)):
            chars.append(char)
    return span.of(chars) if chars else replace(span, chars=(), glyphs=())


def _is_space(char: Glyph) -> bool:
    return char.text.isspace()
