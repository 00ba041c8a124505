"""Looks for lines on their side or upside down on a page that is upright: in margins, on axes, in wide tables.

As it stands the reader sees nothing of a line on its side, or letters one below the other, and of one that is upside
down what no language has. What was not read for sure is shown to the network that tells which way up pages are; where
that sees turned text, the page is rotated and looked at again, and so is each column of single letters: that network
knows print of a page's usual sizes, and wants more than one line. Figures look alike to it either way up: pages
of them that are in doubt are rotated too, and the surer reading is kept.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

import numpy as np
from PIL import Image

from encoders.views import UInt8Array
from ocr.line_reader.faint_print import without_lines
from ocr.line_reader.found_lines import Floats, ReadLine, TextLine, TurnedLines, shared
from ocr.line_reader.language import strange_lines
from ocr.line_reader.page_ink import PageInk
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.orientation.detect import ANGLES, Angle, evidence
from ocr.types import BoxPx

# A line is surely what it was read as with this confidence and more marks than that; so is a turned one. Once there are
# turned lines, letters of several that stand in a row may have been read as one line of up to so many marks, and parts
# of lines that are upside down were read with 0.94.
_SURE, _FEW, _IN_A_ROW, _SURELY = 0.9, 2, 8, 0.97
_NOT_SURE = 0.8  # of two readings of digits the right one is surer: by this, 0.99 outweighs 0.9 twice
# A page is in doubt with so much of its text in digits that were not read for sure: of 40 pages of scans none has half.
_DIGITS = 0.15
# Of a line that was read: so much lies where turned lines are, if it is made of them.
_SHARED = 0.4
# The page is reduced to about these sizes for the pieces by which the direction of what is left is told.
_COARSE, _FINE = (1000, 24), (2000, 40)
# One turned line of each direction has so many letters and digits that differ.
_LEAST_LETTERS = 4
_CAPITAL = 0.7  # a capital's height, in type sizes
_LEAST_INK_PX = 40  # of the analysis: four letters have more
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
    if np.count_nonzero(ink.outside(read.line for read in sure)) < _LEAST_INK_PX:
        return []
    turns = _turns(without_lines(grey, (read.line.box for read in sure)))
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


def _turns(page: UInt8Array) -> list[Angle]:
    """Returns the clockwise rotations that make something on the page look like text."""
    for side_px, num_pieces in (_COARSE, _FINE):
        said = evidence(page, side_px, num_pieces)
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
    page: Floats, part: BoxPx, turn_deg: Angle, unsure: Sequence[ReadLine], reader: LineReader
) -> TurnedLines:
    """Returns what is read for sure on a part of the page, rotated clockwise, and more surely than as it stands."""
    (height, width), (left, top, right, foot) = page.shape, part
    look = replace(read_turned(page[top:foot, left:right], turn_deg, reader), left=left, top=top)
    strange = {id(odd.line) for odd in strange_lines(look.lines)}
    words = [read for read in unsure if len(read.text) > _FEW]
    kept = tuple(
        read
        for read, box in zip(look.lines, look.boxes, strict=True)
        if read.confidence
        > max([_SURE, *(seen.confidence for seen in words if shared(seen.line.box, box) > _SHARED)])
        and id(read) not in strange
        and any(map(str.isalnum, read.text))
    )
    if turn_deg == 180:  # digits and capitals of a line that was missed look like others upside down
        standing = reader.read(page, [_standing(read.line, width, height) for read in kept])
        pairs = zip(kept, standing, strict=True)
        kept = tuple(read for read, as_it_stands in pairs if read.confidence > as_it_stands.confidence)
    return replace(look, lines=kept)


def read_turned(
    darkness: Floats, turn_deg: float, reader: LineReader, of: Floats | None = None
) -> TurnedLines:
    """Returns what is read on a page, [H, W], rotated clockwise. of: the page of which it is a part."""
    page, paper = Image.fromarray(darkness), float(np.median(darkness[::4, ::4]))
    turned = np.asarray(page.rotate(-turn_deg, Image.Resampling.BILINEAR, expand=True, fillcolor=paper))
    lines = tuple(reader.read(turned, reader.find(turned, of)))
    return TurnedLines(turn_deg=turn_deg, lines=lines, width_px=page.width, height_px=page.height)


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
