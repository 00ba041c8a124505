"""Compares characters' usual widths with those drawn for them; this reveals wrong character maps in any language.

Typefaces differ, but in all of them an i is narrow and an m is wide. Torch-free.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pymupdf

from pipeline.text_layer.extract.spans import Span

Floats = npt.NDArray[np.float64]

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
        fits.append(
            _correlation(np.array(drawn), np.array(list(known.values())), np.array(weight, np.float64))
        )
        weights.append(sum(len(font[mark]) for mark in known))
    return float(np.average(fits, weights=weights)) if fits else None


def _correlation(a: Floats, b: Floats, weight: Floats) -> float:
    a, b = a - np.average(a, weights=weight), b - np.average(b, weights=weight)
    spread = float(np.sqrt((weight * a * a).sum() * (weight * b * b).sum()))
    return float((weight * a * b).sum()) / spread if spread else 0.0


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
