"""Tells whether a text's letters form words, by how letters follow each other; this reveals wrong character maps.

So do widths in any language: usual ones of characters are compared with those drawn for them. Typefaces differ, but in
all of them an i is narrow and an m is wide.

What a letter costs after the two before it is the line reader's table (ocr.line_reader.language). Pages in the
languages of Europe cost 3.2 to 4.2 bits a letter, the same with letters exchanged for others 5.4 and more. Torch-free.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from statistics import fmean

import numpy as np
import pymupdf

from ocr.line_reader.language import letter_costs
from pipeline.text_layer.extract.spans import Span

_PLAIN = str.maketrans("ßøæłđıœþð", "soaldiotd")
# Cyrillic and Greek letters as Latin ones that behave alike; others of these alphabets are rare, as q is.
_OTHER = "абвгдежзийклмнопрстуфхцчэыщшіїєґўђјљњћџѓќѕαβγδεζηθικλμνξοπρσςτυφχψω"
_LATIN = "abvgdezziiklmnoprstufhcceyssiiegudjlncdgkzabgdezitiklmnsoprsstifhpo"
_SPELLED = {**dict(zip(_OTHER, _LATIN, strict=True)), "ъ": "", "ь": "", "ю": "iu", "я": "ia"}
_RARE = "q"
# Lists of commands and names cost up to 4.6 bits.
_MOST_BITS, _ENOUGH_LETTERS = 5.1, 60
_OTHERS = re.compile(r"[^a-z]+")


def are_words(text: str) -> bool:
    """Returns whether the letters are likely to be words of a language; True also where there are too few to tell."""
    bits, num = bits_per_letter(text)
    return num < _ENOUGH_LETTERS or bits <= _MOST_BITS


def bits_per_letter(text: str) -> tuple[float, int]:
    """Returns the average cost in bits of the words' letters, ends of words included, and how many they are.

    Only words of three or more Latin, Cyrillic or Greek letters count; (0.0, 0) if there are none.
    """
    costs = letter_costs(_OTHERS.sub(" ", folded(text)))
    return (fmean(costs) if costs else 0.0), len(costs)


def folded(text: str) -> str:
    """Returns the text in lower-case Latin letters without accents; letters of other alphabets stay."""
    parts = unicodedata.normalize("NFD", text.lower()).translate(_PLAIN)
    return "".join(_spelled(letter) for letter in parts if not unicodedata.combining(letter))


def _spelled(letter: str) -> str:
    if letter < "\u0370" or letter > "\u052f":
        return letter
    return _SPELLED.get(letter, _RARE if letter.isalpha() else letter)


_REFERENCE = ("helv", "tiro")  # a sans serif and a serif that come with MuPDF
_ENOUGH_KINDS = 12  # of characters in a typeface
_ENOUGH = 20  # of a character, for its width to be known
_MONOSPACED = 0.02  # spread of the widths, of their mean


def width_fit(spans: Sequence[Span]) -> float | None:
    """Returns how well drawn widths fit the characters: the mean correlation of each typeface's with usual widths.

    None if no proportional typeface has enough different characters.
    """
    widths: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for span in spans:
        for glyph in () if span.is_turned else span.glyphs:
            widths[span.font][glyph.text].append((glyph.box[2] - glyph.box[0]) / span.line.size)
    fits, weights = [], []
    for font in widths.values():
        known = {mark: width for mark in font if (width := _usual_width(mark)) is not None}
        drawn = [float(np.median(font[mark])) for mark in known]
        if len(known) < _ENOUGH_KINDS or np.std(drawn) < _MONOSPACED * np.mean(drawn):
            continue
        weight = [min(len(font[mark]), _ENOUGH) for mark in known]
        spread = np.cov(drawn, list(known.values()), aweights=weight)
        fits.append(float(spread[0, 1] / np.sqrt(spread[0, 0] * spread[1, 1])) if spread[1, 1] else 0.0)
        weights.append(sum(len(font[mark]) for mark in known))
    return float(np.average(fits, weights=weights)) if fits else None


@lru_cache(maxsize=4096)
def _usual_width(mark: str) -> float | None:
    """Returns the mean of a letter's width in a sans serif and in a serif, in type sizes."""
    if len(mark) != 1 or not mark.isalpha():
        return None
    fonts = _reference_fonts()
    if not all(font.has_glyph(ord(mark)) for font in fonts):
        return None
    return sum(float(font.glyph_advance(ord(mark))) for font in fonts) / len(fonts)


@lru_cache(maxsize=1)
def _reference_fonts() -> tuple[pymupdf.Font, ...]:
    return tuple(pymupdf.Font(name) for name in _REFERENCE)
