"""A page's ink, and what of it no line covers: in rows, beside lines, as a share of the page."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from encoders.views import UInt8Array
from ocr.imaging.ink import Ink, band_edges, find_ink, long_runs
from ocr.imaging.measures import ASCENT, DESCENT
from ocr.imaging.pieces import Piece, pieces
from ocr.imaging.profiles import Mask
from ocr.imaging.quantiles import quantiles
from ocr.line_reader.found_lines import Box, ReadLine, TextLine
from ocr.line_reader.levelling import View
from ocr.paragraphs.line_tables import Rule

# Pages are analysed with about so many pixels, A4 at 90 dpi: pen strokes are two of them wide, and it takes some 15 ms.
# Of strips, which are so many times as long as wide, that holds for each such part.
_ANALYSIS_PX, _STRIP = 750_000, 4
# A quarter as high and as wide, for type that is higher than so many of its pixels.
_COARSE_PX, _COARSE_LEAST_PX = _ANALYSIS_PX // 16, 7
# Less ink than this share of the page is a mark or two. On 461 photographs and drawings without print more than this
# share is picture, or the paper is darker than this, or less is ink; on 13 handwritten pages none of these.
_LEAST_INK, _MOST_PICTURE, _LEAST_PAPER = 0.008, 0.03, 150
_THICK_PX, _SLANT = 8, 0.05  # of the analysis: what is thicker is no rule, nor what is higher for its width
# Around a line, in pixels of the analysis: specks and the ends of letters.
_AROUND_PX = 2
# The same: white within a word, and the least height and width of what may be a letter.
_GAP_PX, LEAST_PX = 3, 3
# Of a page whose lines slope by more than so much over its width, rules are so long, and such a share of the width.
_LEVEL_PX, _RULE_PX, _RULE_SHARE = 3, 40, 1 / 24
_SPARSE = 0.05  # frames and strokes of a pen have less ink in their bounds than type
_MOST_PIECES = 400  # the largest ones are looked at
AS_HIGH = (0.35, 1.5)  # in type sizes: as high as the page's lines
# How high small letters and capitals are, in type sizes, where rows of pixels with so much of the ink of the fullest
# ones, one in so many, are theirs. Fewer rows in between, of their height, may have less.
_SMALL_LETTERS, CAPITALS, _FULLEST, _HOLE = (0.43, 0.4), (0.7, 0.15), 8, 0.12
# Levels by which a plain ground differs from its middle shade, marks twice as much; a bar code has less ground.
_ON_GROUND, _LEAST_GROUND = 20, 0.72
_GROWN_PX = 16  # by so much at most areas of pictures are too large
# Of pieces in one row: white between them, in heights of the lower one or in type sizes of the page; the height that
# they share, of the lower one; how many times as high as the other one is at most, but for points and dashes.
_APART, _SHARED_HEIGHT, _ALIKE = 1.1, 0.5, 3.5
_DASH = 1.6  # a dash is so many times as wide as capitals are high at most
# In type sizes: the band above the baseline in which ink goes on beside a line, and in how many columns at least.
_BAND, _LETTER = (0.65, 0.02), 0.2
_WIDER = 1.1  # of the widest white between a line's words


@dataclass(frozen=True, slots=True, kw_only=True)
class PageInk:
    """A page's ink without rules and pictures, [h, w], the page reduced by scale.

    may_be_written: whether ink outside its lines tells of writing: not on dark pages, those with pictures or few marks.
    coarse: that of the page much reduced, as long strokes of large type count as rules and pictures; or None.
    rules, uprights: the page's rules, and edges of bands if some are upright, in its pixels; none in `coarse`.
    on_grounds: the ink on dark grounds, [h, w]: bars of a head, which hold text, and bar codes, which do not.
    bands: where lines were seen to be. last: what was outside those asked about last.
    """

    text: Mask
    on_grounds: Mask
    scale: float
    may_be_written: bool
    coarse: "PageInk | None" = None
    rules: tuple[Rule, ...] = ()
    uprights: tuple[Box, ...] = ()
    bands: dict[TextLine, tuple[tuple[slice, slice], Mask]] = field(default_factory=dict, init=False)
    last: dict[tuple[tuple[TextLine, ...], tuple[Box, ...]], Mask] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, grey: UInt8Array, most_px: int = _ANALYSIS_PX) -> "PageInk":
        """Returns the ink of a page, [H, W] uint8, reduced to at most so many pixels."""
        scale = min(1.0, math.sqrt(most_px / min(grey.size, _STRIP * min(grey.shape) ** 2)))
        height, width = (max(1, round(side * scale)) for side in grey.shape)
        picture = Image.fromarray(grey).resize((width, height), Image.Resampling.BOX)
        found, page = find_ink(picture), np.asarray(picture)
        is_coarse, paper = most_px <= _COARSE_PX, quantiles(page[::2, ::2], [0.5])[0]
        coarse = None if is_coarse else cls.of(page, _COARSE_PX)
        grounds = np.zeros_like(found.text) if is_coarse else _on_grounds(page, found.pictures)
        level, upright = ((), ()) if is_coarse else (pieces(found.level), _uprights(found, page))
        length_px = max(_RULE_PX, round(_RULE_SHARE * width))
        edges = pieces(band_edges(page, length_px), width) if upright else ()  # letters may touch them
        return cls(
            text=found.text | grounds,
            on_grounds=grounds & ~found.text,
            scale=scale,
            may_be_written=bool(
                paper >= _LEAST_PAPER
                and np.count_nonzero(found.text) >= _LEAST_INK * found.text.size
                and np.count_nonzero(found.pictures) <= _MOST_PICTURE * found.pictures.size
            ),
            coarse=coarse and replace(coarse, scale=coarse.scale * scale),
            rules=tuple(
                Rule(x0=it.x0 / scale, x1=it.x1 / scale, y=(it.y0 + it.y1) / 2 / scale, is_edge=is_edge)
                for is_edge, own in ((False, level), (True, edges))
                for it in own
                if it.ink < _THICK_PX * it.width and it.height < _SLANT * it.width
            ),
            uprights=tuple((it.x0 / scale, it.y0 / scale, it.x1 / scale, it.y1 / scale) for it in upright),
        )

    def outside(self, lines: Iterable[TextLine], boxes: Iterable[Box] = ()) -> Mask:
        """Returns the ink that is neither of these lines nor in these boxes, [h, w]; not to be written to."""
        asked = tuple(lines), tuple(boxes)
        if asked in self.last:
            return self.last[asked]
        self.last.clear()
        left = self.last[asked] = self.text.copy()
        for line in asked[0]:
            if line not in self.bands:
                self.bands[line] = self._band(line)
            place, is_beside = self.bands[line]
            left[place] &= is_beside
        for box in asked[1]:
            (top, foot), columns = self._rows(*np.array(box[1::2], np.float32)), self._columns(*box[::2])
            left[int(top) : int(foot), columns] = False
        return left

    def _band(self, line: TextLine) -> tuple[tuple[slice, slice], Mask]:
        """Returns where a line is in the ink, (rows, columns), and what of that it does not cover."""
        columns = self._columns(line.left, line.right)
        x = ((np.arange(columns.start, columns.stop) + 0.5) / self.scale).astype(np.intp)
        base = line.baseline[np.clip(x - line.left, 0, len(line.baseline) - 1)]
        top, foot = self._rows(base - ASCENT * line.size, base + DESCENT * line.size)
        rows = slice(int(top.min(initial=len(self.text))), int(foot.max(initial=0)))
        y = np.arange(rows.start, rows.stop)[:, None]
        return (rows, columns), (y < top) | (y >= foot)

    def _rows(self, top: Any, foot: Any) -> Any:
        sides = (top * self.scale - _AROUND_PX, foot * self.scale + (_AROUND_PX + 1))
        return np.clip(sides, 0, len(self.text)).astype(np.intp)

    def _columns(self, left: float, right: float) -> slice:
        first = max(0, int(left * self.scale) - _AROUND_PX)
        return slice(first, max(first, min(self.text.shape[1], int(right * self.scale) + _AROUND_PX + 1)))

    def goes_on(
        self, outside: Mask, read: ReadLine, slope: float, most: tuple[float, float]
    ) -> tuple[int, int]:
        """Returns how far ink outside lines goes on beside a line, with no more white between."""
        line, (height, width) = read.line, outside.shape
        size, reach = line.size * self.scale, [line.left, line.right]
        whites = [after.left - word.right for word, after in pairwise(read.words)]
        apart = min(max(_WIDER * max(whites, default=0.0) / line.size, most[0]), most[1]) * size
        offsets, rise = np.arange(-_BAND[0] * size, -_BAND[1] * size)[:, None], abs(slope) * apart + 2
        for side, step in enumerate((-1, 1)):
            first, end = int(reach[side] * self.scale), (-1, width)[side]
            base = line.baseline[-side] * self.scale + offsets
            x0, x1 = sorted((first, first + step * math.ceil(apart)))
            y0, y1 = (min(max(0, int(y)), height - 1) for y in (base[0, 0] - rise, base[-1, 0] + rise))
            if not outside[y0 : y1 + 1, max(0, x0) : x1 + 1].any():
                continue  # few lines go on
            x = np.arange(first, end, step).clip(0, width - 1)
            rows = (base + slope * (x - first)).clip(0, height - 1).astype(np.intp)
            inked = np.flatnonzero(outside[rows, x].any(0))
            wide = np.flatnonzero(np.diff(inked, prepend=0) > apart)
            inked = inked[: wide[0]] if len(wide) else inked
            if len(inked) > _LETTER * size:
                reach[side] += step * math.ceil(inked[-1] / self.scale)
        return reach[0], reach[1]

    def unread(self, lines: Iterable[TextLine], boxes: Iterable[Box] = ()) -> float:
        """Returns the share of the ink outside these lines and boxes, 0 where that need not be writing."""
        if not self.may_be_written:
            return 0.0
        return int(np.count_nonzero(self.outside(lines, boxes))) / int(np.count_nonzero(self.text))

    def rows(self, outside: Mask, size: float, view: View) -> tuple[list[Piece], list[Piece]]:
        """Returns the ink outside lines in rows as high as the page's type size, and in others, the largest first.

        They are as the page's lines are level: where these slope, so do its rules.
        """
        height, width = outside.shape
        on_page = partial(self._above, view)
        if slopes := np.ptp(on_page([0, width], [[0], [height]]), axis=1).max() > _LEVEL_PX:
            x = np.flatnonzero(outside.any(0))  # most columns of pixels have no such ink
            rows = np.rint(on_page(x, np.arange(height)[:, None])).astype(np.intp).clip(0, height - 1)
            outside, slanted = np.zeros_like(outside), outside
            outside[:, x] = slanted[rows, x]
            outside &= ~long_runs(outside, max(_RULE_PX, round(_RULE_SHARE * width)))[0]
        found: list[Piece] = []
        largest = sorted(pieces(outside, _GAP_PX), key=lambda piece: -piece.width * piece.height)
        for piece in sorted(largest[:_MOST_PIECES], key=lambda piece: piece.x0):
            beside = (row for row in found if row.y0 < piece.y1 and row.y1 > piece.y0)  # few are
            near = [row for row in beside if _are_one_row(row, piece, _APART * size * self.scale)]
            if near:
                max(near, key=lambda row: min(row.y1, piece.y1) - max(row.y0, piece.y0)).take(piece)
            else:
                found.append(piece)
        least_px = _COARSE_LEAST_PX if self.coarse is None else LEAST_PX
        large = (row for row in found if row.height >= least_px and row.width >= LEAST_PX)
        kept = [row for row in large if row.ink > _SPARSE * row.width * row.height]
        kept.sort(key=lambda row: -row.width * row.height)
        least, most = (share * size * self.scale for share in AS_HIGH)
        alike = [row for row in kept if least <= row.height <= most]
        others = [row for row in kept if not least <= row.height <= most]
        for row in kept if slopes else ():
            ends = np.array([row.x0, row.x1])
            row.y0, row.y1 = int(on_page(ends, row.y0).min()), math.ceil(on_page(ends, row.y1).max())
        return alike, others

    def _above(self, view: View, x: npt.ArrayLike, y: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Returns how far down the page's ink is what stands at (x, y) of it levelled."""
        return view.above(np.asarray(x) / self.scale, np.asarray(y) / self.scale) * self.scale

    def on_page(self, row: Piece) -> Box:
        """Returns the bounds of a row in pixels of the whole page, with white beside it."""
        x0, y0, x1, y1 = (side / self.scale for side in (row.x0 - 1, row.y0, row.x1 + 1, row.y1))
        return x0, y0, x1, y1


def lines_of_ink(ink: Mask, x0: int, y0: int, slope: float) -> Iterator[TextLine]:
    """Yields the lines that a row's ink shows if most of it is of small letters, and of capitals; none for specks."""
    down = np.rint(slope * (np.arange(ink.shape[1]) - ink.shape[1] / 2)).astype(np.intp)
    if down.any():
        own = np.arange(len(ink))[:, None] + down[None]
        ink = np.take_along_axis(ink, np.clip(own, 0, len(ink) - 1), 0) & (own >= 0) & (own < len(ink))
    profile, columns = ink.sum(1), np.flatnonzero(ink.any(0))
    for height, dense in (_SMALL_LETTERS, CAPITALS) if len(columns) >= LEAST_PX else ():
        full = np.flatnonzero(profile > dense * np.sort(profile)[-max(1, len(profile) // _FULLEST)])
        holes = np.flatnonzero(np.diff(full) > max(2, _HOLE * len(profile))) + 1
        band = max(np.split(full, holes), key=len)
        top, foot = y0 + int(band[0]), y0 + int(band[-1]) + 1
        first, end = int(columns[0]), int(columns[-1]) + 1
        baseline = (foot + slope * (np.arange(first, end) - ink.shape[1] / 2)).astype(np.float32)
        yield TextLine(left=x0 + first, right=x0 + end, baseline=baseline, size=(foot - top) / height)


def _on_grounds(grey: UInt8Array, pictures: Mask) -> Mask:
    """Returns what stands on plain grounds that count as pictures, as they are darker than the paper: heads, bars.

    And what stands beside pictures: their areas are found too large.
    """
    found, areas = np.zeros_like(pictures), pieces(pictures) if pictures.any() else []
    paper = int(quantiles(grey, [0.5])[0]) if areas else 0
    for area in areas:
        place = slice(area.y0, area.y1), slice(area.x0, area.x1)
        part = grey[place].astype(np.float32)
        far = np.abs(part - np.float32(quantiles(grey[place], [0.5])[0]))
        rows, columns = (np.flatnonzero(np.mean(far <= _ON_GROUND, axis) > 0.5) for axis in (1, 0))
        if len(rows) and len(columns):  # without the paper around it
            inner = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
            if np.mean(far[inner] <= _ON_GROUND) > _LEAST_GROUND:
                found[place][inner] |= far[inner] > 2 * _ON_GROUND
        beside = part < paper - 2 * _ON_GROUND
        beside[tuple(_within_white(np.any(beside, axis)) for axis in (1, 0))] = False
        found[place] |= beside
    return found


def _uprights(ink: Ink, grey: UInt8Array) -> list[Piece]:
    """Returns the rules down a page, in parts where they end at a band."""
    x = np.flatnonzero(ink.upright.any(0))
    sides = (grey[:, (x + way) % grey.shape[1]] for way in (-_AROUND_PX - 1, _AROUND_PX + 1))
    beside, upright = np.minimum(*sides).astype(np.int16), ink.upright.copy()
    upright[:, x] &= ~long_runs(ink.level[:, x], _THICK_PX)[1] | (grey[:, x] < beside - _ON_GROUND // 2)
    return [it for it in pieces(upright) if max(_THICK_PX, it.ink / _THICK_PX) < it.height]


def _within_white(inked: Mask) -> slice:
    """Returns the rows or columns of a picture's area between white ones near its edges, all where there is none."""
    white = np.flatnonzero(~inked)
    first = white[white < _GROWN_PX].max(initial=0)
    return slice(first, white[white >= len(inked) - _GROWN_PX].min(initial=len(inked)))


def _are_one_row(row: Piece, piece: Piece, least_px: float) -> bool:
    high, low = max(row.height, piece.height), min(row.height, piece.height)
    are_near = piece.x0 - row.x1 < max(_APART * low, least_px)
    if not are_near or min(row.y1, piece.y1) - max(row.y0, piece.y0) < _SHARED_HEIGHT * low:
        return False
    most = max(2 * LEAST_PX, _DASH * high)
    return high < _ALIKE * low or any(it.height <= LEAST_PX and it.width <= most for it in (row, piece))
