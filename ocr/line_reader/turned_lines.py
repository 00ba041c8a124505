"""Looks for lines on their side or upside down on a page that is upright: in margins, on axes, in wide tables.

As it stands the reader sees nothing of a line on its side, or letters one below the other, and of one that is upside
down what no language has. What was not read for sure is shown to the network that tells which way up pages are; where
that sees turned text, the page is rotated and looked at again, and so is each column of single letters: that network
knows print of a page's usual sizes, and wants more than one line. Figures look alike to it either way up: pages
of them that are in doubt are rotated too, and the surer reading is kept. Pages that lie askew are rotated as a whole.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from encoders.views import UInt8Array
from ocr.imaging.profiles import Mask
from ocr.line_reader.faint_print import without_lines
from ocr.line_reader.found_lines import ReadLine, Shades, TextLine, TurnedLines, shared
from ocr.line_reader.language import strange_lines
from ocr.line_reader.levelling import SEVERAL_WORDS, slope_of
from ocr.line_reader.page_ink import PageInk
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.orientation.detect import ANGLES, Angle, detect, evidence
from ocr.orientation.line_samples import length_px
from ocr.types import BoxPx

# A line is surely what it was read as with this confidence and more marks than that; so is a turned one. Once there are
# turned lines, letters of several that stand in a row may have been read as one line of up to so many marks, and parts
# of lines that are upside down were read with 0.94. With more of its lines turned than the last, a page is as a whole.
_SURE, _FEW, _IN_A_ROW, _SURELY, _NEARLY_ALL = 0.9, 2, 8, 0.97, 0.9
_NOT_SURE = 0.8  # of two readings of digits the right one is surer: by this, 0.99 outweighs 0.9 twice
# A page is in doubt with so much of its text in digits that were not read for sure: of 40 pages of scans none has half.
_DIGITS = 0.15
# Of a line that was read: so much lies where turned lines are, if it is made of them.
_SHARED = 0.4
# The page is reduced to about these sizes for the pieces by which the direction of what is left is told.
_COARSE, _FINE = (1000, 24), (2000, 40)
_AROUND_PX = 150  # of the page, around what is left
# One turned line of each direction has so many letters and digits that differ.
_LEAST_LETTERS = 4
_CAPITAL = 0.7  # a capital's height, in type sizes
_LEAST_INK_PX = 40  # of the analysis: four letters have more
# A page with so many long lines that slope less is level; so many degrees askew it is read well. Once it lies level its
# lines are longer by a line, of so many type sizes. So many pixels of ink tell of it, two to a row.
_MANY_LEVEL, _LEVEL, _LEAST_SKEW_DEG, _A_LINE, _MOST_INK, _ROW_PX = 6, 0.1, 5, 10, 5000, 2
# Letters of a line on its side: so many pieces of so few marks each, with no more white between than this share of
# their width, and so much of the narrower one's below each other; of many columns, as in handwriting, the longest.
_COLUMN, _MARKS, _WHITE, _BELOW, _LONGEST = 4, 2, 1.6, 0.7, 2


def turned_lines(
    grey: UInt8Array,
    ink: PageInk,
    found: Sequence[ReadLine],
    reader: LineReader,
    doubt_deg: int | None = None,
) -> list[TurnedLines]:
    """Returns the page's lines that do not run from left to right, by their directions; none for most pages.

    grey: [H, W] uint8, in whose pixels the lines found are. ink: its ink. doubt_deg: how the page may be turned after
    all, or the opposite if on its side: digits look like text either way up.
    """
    strange = {id(odd.line) for odd in strange_lines(found)}
    sure = [read for read in found if id(read) not in strange and _is_sure(read, _FEW)]
    sure = [read for read in sure if not (doubt_deg and read.is_rule)]  # which rows on their side look like
    outside = ink.outside(read.line for read in sure)
    if np.count_nonzero(outside) < _LEAST_INK_PX:
        return []
    left = without_lines(grey, (read.line.box for read in sure))
    (top, foot), (start, end) = (np.flatnonzero(outside.any(it))[[0, -1]] / ink.scale for it in (1, 0))
    left = left[max(0, int(top) - _AROUND_PX) : int(foot) + _AROUND_PX]
    left = left[:, max(0, int(start) - _AROUND_PX) : int(end) + _AROUND_PX]
    turns = _turns(left, length_px(left) / length_px(grey))
    unsure_digits = sum(sum(map(str.isdigit, read.text)) for read in found if read.confidence < _SURE)
    if unsure_digits > _DIGITS * sum(len(read.text) for read in found):
        doubt_deg = doubt_deg or 180
    if doubt_deg:
        turns = [angle for angle in ANGLES if angle in turns or (angle and (angle - doubt_deg) % 180 == 0)]
    columns = [] if turns else _columns(read for read in found if not _is_sure(read, _MARKS))
    if not turns and not columns:
        return []
    long = (read for read in sure if _is_sure(read, _IN_A_ROW))
    kept = {id(read) for read in long if read.is_rule or read.confidence > _SURELY}
    page = darkness_of(without_lines(grey, (read.line.box for read in found if id(read) in kept)))
    unsure = [read for read in found if id(read) not in kept]
    parts = [((0, 0, *page.shape[::-1]), turn_deg) for turn_deg in turns]
    parts += [(part, turn_deg) for part in columns for turn_deg in ANGLES[1::2]]
    return list(_surest([_look(page, part, turn_deg, unsure, reader) for part, turn_deg in parts]))


def _columns(unsure: Iterable[ReadLine]) -> list[BoxPx]:
    """Returns the columns of single letters, each with what is around it, where letters may be that were not found."""
    pieces = [read.line.box for read in unsure if not read.is_rule and len(read.text.strip()) <= _MARKS]
    edges, numbers = np.full((len(pieces), 4), -np.inf), [0] * len(pieces)  # left and top negated: all grow
    for left, top, right, foot in sorted(pieces, key=itemgetter(1)):
        x0, _, x1, y1 = (edges[: len(pieces) - numbers.count(0)] * (-1, -1, 1, 1)).T
        shared_px, widest = np.minimum(x1, right) - np.maximum(x0, left), np.maximum(x1 - x0, right - left)
        is_below = (shared_px > _BELOW * np.minimum(x1 - x0, right - left)) & (top - y1 < _WHITE * widest)
        at = np.append(np.flatnonzero(is_below), len(x0))[0]
        edges[at] = np.maximum(edges[at], (-left, -top, right, foot))
        numbers[at] += 1
    columns = zip(numbers, (edges * (-1, -1, 1, 1)).tolist(), strict=True)
    long = sorted((column for column in columns if column[0] >= _COLUMN), reverse=True)
    return [
        (max(0, int(2 * x0 - x1)), max(0, int(y0 - 3 * (x1 - x0))), int(2 * x1 - x0), int(y1 + 3 * (x1 - x0)))
        for _, (x0, y0, x1, y1) in long[:_LONGEST]
    ]


def _turns(part: UInt8Array, share: float) -> list[Angle]:
    """Returns the clockwise rotations that make something on a part of the page look like text. share: its length's."""
    for side_px, num_pieces in (_COARSE, _FINE):
        said = evidence(part, share * side_px, num_pieces)
        if max(said.log_odds[1:]) <= 0:
            return []
    return [angle for angle, num_clear in zip(ANGLES, said.num_clear, strict=True) if angle and num_clear]


def without_turned(found: Iterable[ReadLine], turned: Sequence[TurnedLines]) -> list[ReadLine]:
    """Returns the lines that are not turned ones, or letters of them, seen as they stand."""
    boxes = [box for part in turned for box in part.boxes]
    return [read for read in found if sum(shared(read.line.box, box) for box in boxes) <= _SHARED]


def _is_sure(read: ReadLine, few: int) -> bool:
    return read.is_rule or (read.confidence >= _SURE and len(read.text.strip()) > few)


def _look(
    page: Shades, part: BoxPx, turn_deg: Angle, unsure: Sequence[ReadLine], reader: LineReader
) -> TurnedLines:
    """Returns what is read for sure on a part of the page, rotated clockwise, and more surely than as it stands."""
    (height, width), (left, top, right, foot) = page.shape, part
    look = replace(read_turned(page[top:foot, left:right], turn_deg, reader), left=left, top=top)
    strange = {id(odd.line) for odd in strange_lines(look.lines)}
    words = [read for read in unsure if len(read.text) > _FEW]
    there = ([it.confidence for it in words if shared(it.line.box, box) > _SHARED] for box in look.boxes)
    pairs = zip(look.lines, there, strict=True)
    sure = [it for it in pairs if it[0].confidence > _SURE and it[0].num_letters and id(it[0]) not in strange]
    kept = tuple(read for read, seen in sure if read.confidence > max(seen, default=0.0))
    if turn_deg == 180:  # digits and capitals of a line that was missed look like others upside down
        standing = reader.read(page, [_standing(read.line, width, height) for read in kept])
        kept = tuple(a for a, b in zip(kept, standing, strict=True) if a.confidence > b.confidence)
    is_turned = len(kept) > _NEARLY_ALL * len(look.lines)  # a few may look like others upside down
    return replace(look, lines=tuple(read for read, _ in sure) if is_turned else kept)


def read_turned(page: Shades, turn_deg: float, reader: LineReader, of: Shades | None = None) -> TurnedLines:
    """Returns what is read on a page, [H, W], rotated clockwise. of: the page of which it is a part."""
    turned, (height, width) = rotated(page, turn_deg), page.shape
    lines = tuple(reader.read(turned, reader.find(turned, of)))
    return TurnedLines(turn_deg=turn_deg, lines=lines, width_px=width, height_px=height)


def rotated(page: npt.NDArray[Any], turn_deg: float) -> npt.NDArray[Any]:
    """Returns a page, [H, W], rotated clockwise, with paper around it."""
    paper, way = np.median(page[::4, ::4]).astype(page.dtype).item(), Image.Resampling.BILINEAR
    return np.asarray(Image.fromarray(page).rotate(-turn_deg, way, expand=True, fillcolor=paper))


def skew_of(grey: UInt8Array, ink: PageInk, found: Sequence[TextLine], reader: LineReader) -> float:
    """Returns the clockwise rotation in degrees that makes far more of a page's lines level; 0 for most pages.

    Of lines that are askew the finder sees pieces or nothing. grey: [H, W] uint8. found: its lines as it stands.
    """
    before = _level(found)
    is_level = sum(length > SEVERAL_WORDS for length in before) >= _MANY_LEVEL
    turn_deg = 0.0 if is_level or not ink.text.any() else _skew_of(ink.text)
    if abs(least_deg := (turn_deg + 45) % 90 - 45) <= _LEAST_SKEW_DEG:
        return 0.0
    turned = {turn_deg: rotated(grey, turn_deg)}
    turns_deg = {(turn_deg + detect(turned[turn_deg]).angle_deg + 90) % 360 - 90, least_deg}
    pages = {it: darkness_of(turned[it] if it in turned else rotated(grey, it)) for it in turns_deg}
    seen = {it: reader.find(page) for it, page in pages.items()}
    likely = [it for it, lines in seen.items() if sum(_level(lines)) > sum(before) + _A_LINE]
    if len(likely) > 1:  # columns of letters of one width look like lines too, until they are read
        read = ((reader.read(pages[it], seen[it]), it) for it in likely)
        likely = [max((sum(x.num_letters * x.confidence for x in lines), it) for lines, it in read)[1]]
    return likely[0] if likely else 0.0


def _level(lines: Iterable[TextLine]) -> list[float]:
    """Returns how long lines are, in type sizes, without long ones that slope."""
    lengths = ((len(line.baseline) / line.size, line) for line in lines)
    return [length for length, line in lengths if length < SEVERAL_WORDS or abs(slope_of(line)) < _LEVEL]


def _skew_of(ink: Mask) -> float:
    """Returns the rotation, in whole degrees, after which a page's ink differs most from one row to the next.

    Source: Postl 1986. Pixels are spread within their squares, or at 45 degrees every other row would be empty.
    """
    y, x = (places[:: 1 + len(places) // _MOST_INK] for places in np.nonzero(ink))
    spread_x, spread_y = np.random.default_rng(0).random((2, len(x)))
    turns_deg = np.arange(-90, 90)
    down = np.outer(np.exp(1j * np.radians(turns_deg)), x + spread_x + 1j * (y + spread_y)).imag / _ROW_PX
    rows = (down - down.min()).astype(np.intp)
    return float(turns_deg[np.argmax([(np.diff(np.bincount(own)) ** 2).sum() for own in rows])])


def _standing(line: TextLine, width: int, height: int) -> TextLine:
    """Returns a line of the page upside down as one of the page as it stands, of this width and height."""
    baseline = height - line.baseline[::-1] + np.float32(_CAPITAL * line.size)
    return replace(line, left=width - line.right, right=width - line.left, baseline=baseline, is_sure=True)


def _surest(looks: Sequence[TurnedLines]) -> Iterator[TurnedLines]:
    """Yields the looks, each without what stands where other ones' lines of more letters, or surer ones, do."""
    placed = [pair for look in looks for pair in zip(look.lines, look.boxes, strict=True)]
    for look in sorted(looks, key=lambda look: -sum(read.num_letters for read in look.lines)):
        there = (
            [it for it, at in placed if max(shared(box, at), shared(at, box)) > _SHARED] for box in look.boxes
        )
        pairs = zip(look.lines, there, strict=True)
        lines = tuple(read for read, others in pairs if sum(map(_weight, others)) <= 2 * _weight(read))
        if any(len(set(filter(str.isalnum, read.text))) >= _LEAST_LETTERS for read in lines):
            yield replace(look, lines=lines)


def _weight(read: ReadLine) -> float:
    return read.num_letters * (read.confidence - _NOT_SURE)
