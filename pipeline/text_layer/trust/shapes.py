"""Compares what a layer says of its digits and letters with the shapes that are drawn there. Torch-free.

Exchanged digits are invisible to every statistic of a text. So each digit and some letters of each typeface of a
document are held once against how common typefaces draw them. A typeface that fails need not be wrong, it may only be
unusual: words of it are shown to the line reader (`pipeline.readers.text_layers`).
"""

import string
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
import pymupdf
from PIL import Image

from pipeline.text_layer.extract.spans import Glyph, Span
from pipeline.text_layer.extract.symbols import is_symbols
from pipeline.text_layer.trust.ink import GreyImage, rows_of
from pipeline.types import FontSample

Floats = npt.NDArray[np.float32]

_FACES = ("helv", "hebo", "heit", "tiro", "tibo", "tiit", "cour")
_DIGITS, _LETTERS = "0123456789", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ALIKE = str.maketrans("oOlIiJ", "001111")  # drawn alike, once their size is not known
_CLASSES = "0123456789abcdefghjklmnpqrstuvwxyz"
_SCALE, _LONGEST_PX = 3.0, 6000  # pixels a point, and of a page at most
_LEAST_PT = 5.0  # smaller type has too few pixels at this scale
_WIDTH, _HEIGHT = 12, 16  # of a shape, pixels
_OF_ASPECT = 0.3  # what a shape of other proportions costs
_LEAST_INK, _LEAST_PX = 40, 4
_RULE = 0.95  # of a row: a rule or a frame's edge, no part of a letter
_ABOVE, _BELOW = 0.95, 0.3  # type sizes from the baseline
_SAMPLES = 6  # of a character
_PAGES_SHOWN = 3  # for which words of a typeface in doubt are given
_MARGIN = 0.08  # how much more alike another digit may be
_RANK, _FEW, _ENOUGH = 2, 5, 10  # of letters: the median of their ranks, and how many are compared
_MARKS = frozenset(string.punctuation)
_FEWEST_MARKS = 3  # different ones in a word
_MOST_WORDS, _LONGEST_WORD = 8, 24

# A character or word, and the span it is in.
Place = tuple[Span, Glyph]
Places = dict[str, list[Place]]


@dataclass(slots=True)
class SeenFonts:
    """What is known of a document's typefaces: their characters that were compared, and those that failed.

    shown: on how many pages words of a typeface were given to be read.
    """

    compared: defaultdict[str, set[str]] = field(default_factory=partial(defaultdict, set))
    in_doubt: set[str] = field(default_factory=set)
    shown: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A part of a page as grey levels. left, top: where it begins, in pixels. scale: pixels a point."""

    grey: GreyImage
    left: int
    top: int
    scale: float

    @classmethod
    def of(cls, display: Any, places: Sequence[Place]) -> "_Drawn":
        """Draws the part of a page in which these places are. Raises: whatever MuPDF does."""
        scale = _scale(display)
        part = pymupdf.Rect()
        for span, place in places:
            base, size = span.line.base, span.line.size
            part |= pymupdf.Rect(place.box[0], base - size, place.box[2], base + size) & display.rect
        matrix = pymupdf.Matrix(scale, scale)
        pixmap = display.get_pixmap(matrix=matrix, colorspace=pymupdf.csGRAY, alpha=False, clip=part)
        return cls(rows_of(pixmap), pixmap.x, pixmap.y, scale)

    def cut(self, span: Span, place: Glyph) -> tuple[GreyImage, float, float]:
        """Returns the pixels of a place, where its baseline is in them, and its type size in pixels."""
        base, size = span.line.base * self.scale - self.top, span.line.size * self.scale
        top, bottom = max(0, round(base - _ABOVE * size)), max(0, round(base + _BELOW * size))
        left, right = (max(0, round(x * self.scale) - self.left) for x in (place.box[0], place.box[2]))
        return self.grey[top:bottom, left:right], base - top, size

    def sample(self, text: str, place: Place) -> FontSample:
        """Returns a word to be read."""
        grey, base_px, size_px = self.cut(*place)
        return FontSample(font=place[0].font, text=text, grey=grey.copy(), base_px=base_px, size_px=size_px)


def in_doubt(spans: Sequence[Span], display: Any, seen: SeenFonts) -> tuple[FontSample, ...]:
    """Returns words of the page's typefaces whose characters look otherwise than they say; notes what was compared.

    display: the page's pymupdf DisplayList, of which as much is drawn as is needed. A typeface of which words were
    shown for a few pages comes with an empty one. Raises: whatever MuPDF does.
    """
    least_pt = _LEAST_PT * _SCALE / _scale(display)
    plain = [
        span
        for span in spans
        if span.is_drawn and not span.is_turned and span.line.size >= least_pt and not is_symbols(span.font)
    ]
    if wanted := _wanted(plain, seen):
        drawn = _Drawn.of(display, [place for its in wanted.values() for at in its.values() for place in at])
        for font, places in wanted.items():
            seen.compared[font] |= places.keys()
            if _fails(drawn, places):
                seen.in_doubt.add(font)
    found: list[FontSample] = []
    for font in sorted({span.font for span in plain}):
        own = [span for span in plain if span.font == font]
        if _is_of_marks(" ".join(span.line.text for span in own)):
            seen.in_doubt.add(font)
        words = _words(own) if font in seen.in_doubt else ()
        seen.shown[font] += bool(words)
        if words and seen.shown[font] > _PAGES_SHOWN:
            found.append(
                FontSample(font=font, text="", grey=np.zeros((0, 0), np.uint8), base_px=0, size_px=0)
            )
        elif words:
            drawn = _Drawn.of(display, [place for _, place in words])
            found += (drawn.sample(text, place) for text, place in words)
    return tuple(found)


def _scale(display: Any) -> float:
    scale: float = min(_SCALE, _LONGEST_PX / max(display.rect.width, display.rect.height))
    return scale


def _wanted(spans: Sequence[Span], seen: SeenFonts) -> Mapping[str, Places]:
    """Returns for each typeface the characters to be compared, and some of their places."""
    wanted: defaultdict[str, Places] = defaultdict(dict)
    for span in spans:
        compared, places = seen.compared[span.font], wanted[span.font]
        num_letters = sum(text in _LETTERS for text in (*compared, *places))
        for glyph in span.glyphs:
            text = glyph.text
            if text in compared or not (text in _DIGITS or text in _LETTERS):
                continue
            if text in places:
                if len(places[text]) < _SAMPLES:
                    places[text].append((span, glyph))
            elif text in _DIGITS or num_letters < _ENOUGH:
                places[text] = [(span, glyph)]
                num_letters += text in _LETTERS
    return {font: places for font, places in wanted.items() if places}


def _is_of_marks(text: str) -> bool:
    """Returns whether a typeface's text is mostly marks, and has words of several different ones."""
    is_mostly = 2 * sum(mark in _MARKS for mark in text) > len(text.replace(" ", ""))
    return is_mostly and any(len(set(word) & _MARKS) >= _FEWEST_MARKS for word in text.split())


def _words(spans: Sequence[Span]) -> Sequence[tuple[str, Place]]:
    """Returns some words in letters and digits that the line reader knows: those with digits and the longest first."""
    found: dict[str, Place] = {}
    for span in spans:
        runs = groupby(span.chars, lambda char: char.text.isspace())
        for word in (list(run) for is_space, run in runs if not is_space):
            text = "".join(char.text for char in word)
            if text.isascii() and len(text) <= _LONGEST_WORD:
                (x0, y0, _, _), (_, _, x1, y1) = word[0].box, word[-1].box
                found.setdefault(text, (span, Glyph(text=text, box=(x0, y0, x1, y1))))
    by_use = sorted(found, key=lambda text: (not any(map(str.isdigit, text)), -len(text)))
    return [(text, found[text]) for text in by_use[:_MOST_WORDS]]


def _shape(grey: GreyImage) -> tuple[Floats, float] | None:
    """Returns a character as a vector of length 1, and the logarithm of its proportions; None where none is seen."""
    if min(grey.shape, default=0) < 2:
        return None
    ink = np.abs(grey.astype(np.int16) - int(np.median(grey)))
    if ink.max() < _LEAST_INK:
        return None
    ink[(ink > ink.max() / 2).mean(1) > _RULE] = 0
    dark = ink > max(ink.max() / 2, 1)
    rows, columns = np.flatnonzero(dark.any(1)), np.flatnonzero(dark.any(0))
    if not rows.size:
        return None
    left, top, right, bottom = (float(edge) for edge in (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1))
    width, height = right - left, bottom - top
    if height < _LEAST_PX:
        return None
    picture = Image.fromarray((255 * (ink / ink.max())).astype(np.uint8))
    small = picture.resize((_WIDTH, _HEIGHT), Image.Resampling.BOX, box=(left, top, right, bottom))
    vector = np.asarray(small, np.float32).ravel()
    vector = vector - vector.mean()
    return vector / max(float(np.linalg.norm(vector)), 1e-6), float(np.log(width / height))


@cache
def _templates() -> tuple[Floats, Floats, npt.NDArray[np.intp]]:
    """Returns how common typefaces draw each of _CLASSES, one after the other.

    Shapes [N, pixels], proportions [N], and where each class begins.
    """
    size, step, texts = 24.0, 40, _DIGITS + _LETTERS
    found: list[tuple[str, Floats, float]] = []
    with pymupdf.open() as document:
        for face in _FACES:
            page = document.new_page(width=step * len(texts), height=36)
            letters = page.new_shape()
            for number, text in enumerate(texts):
                letters.insert_text((10 + step * number, 26), text, fontname=face, fontsize=size)
            letters.commit()
            pixmap = page.get_pixmap(dpi=round(72 * _SCALE), colorspace=pymupdf.csGRAY)
            for number, text in enumerate(texts):
                left = round((5 + step * number) * _SCALE)
                shape = _shape(rows_of(pixmap)[:, left : left + round(step * _SCALE)])
                assert shape is not None, "every face has them"
                found.append((_class(text), *shape))
    classes, vectors, aspects = zip(*sorted(found, key=itemgetter(0)), strict=True)
    starts = np.array([classes.index(name) for name in _CLASSES])
    return np.stack(vectors), np.array(aspects, np.float32), starts


def _fails(drawn: _Drawn, places: Places) -> bool:
    """Returns whether a digit looks like another wherever it stands, or most letters like several others."""
    ranks = []
    for text, its in places.items():
        rank = None
        for place in its:
            if (shape := _shape(drawn.cut(*place)[0])) is not None:
                found = _rank(text, _scores(shape))
                rank = found if rank is None else min(rank, found)
            if rank == 0:
                break
        if rank is not None and text in _DIGITS and rank:
            return True
        if rank is not None:
            ranks.append(rank)
    return len(ranks) >= _FEW and median(ranks) > _RANK


def _rank(text: str, scores: Floats) -> int:
    """Returns how many characters a shape is more like, of a digit's only other digits that it is clearly more like."""
    own = scores[_CLASSES.index(_class(text))]
    if text in _DIGITS:
        return int((scores[: len(_DIGITS)] > own + _MARGIN).sum())
    return int((scores > own).sum())


def _class(text: str) -> str:
    return text.translate(_ALIKE).lower()


def _scores(shape: tuple[Floats, float]) -> Floats:
    """Returns how much a shape is like each of _CLASSES, in the typeface in which it is most."""
    vectors, aspects, starts = _templates()
    alike = vectors @ shape[0] - _OF_ASPECT * np.abs(aspects - shape[1])
    best: Floats = np.maximum.reduceat(alike, starts)
    return best
