"""Finds columns of text that stand side by side, and tells them from the columns of a table.

A table's rows belong together and are read across; columns of text are read one after the other. Text fills its
lines and follows line upon line; a table's cells are short, or leave room between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from ocr.imaging.measures import FURNITURE_WHITE, HIGHEST_LINE, MIN_GUTTER_PX, OPEN_GUTTER, PARAGRAPH_WHITE
from ocr.imaging.profiles import Mask
from ocr.layout.bands import bands_of
from ocr.layout.crops import Box
from ocr.layout.gutters import bits_of, gutters, num_gutters, together
from ocr.layout.texture import RUNNING_TEXT, Sides, Texture, are_even, is_listing, is_text

# In x-heights.
_LEAST_BESIDE = 8.0  # the least height of print over or under columns that are columns with it
_SHIFT = 3.0  # how far the middle of the same gutter may move from band to band
_DOT, _MIN_DOT_PX = 0.4, 3  # the most that a leader's dot measures
# The widest space between words of a heading, in heights of its band.
_HEADING_SPACE = 0.45
# Rules across a gutter: with more it is a table's. They are seen in columns this near to the gutter's middle.
_MAX_RULES, _NEAR_PX = 2, 4
# More are no index; the gutters tried in combinations are limited, as their number grows so fast.
_MAX_EVEN_COLUMNS, _MAX_EVEN_GUTTERS = 4, 8
# Against pages of dots: bands that are searched, and stretches that are examined.
_MAX_BANDS, _MAX_TRIES = 200, 24
# A stretch that is more than this share of one that was found to be no text is none either.
_MOST = 0.93
# A last column with no more lines than these at its head is one if it is as wide as the others, up to this ratio.
_FEW_LINES, _ALIKE = 2, 0.92
_BESIDE = 0.3  # the share of its rows in which a filled side has ink

_Rows = tuple[list[tuple[int, int]], list[int]]  # bands, and the pixel columns that each inks, as bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A stretch of pixel rows, top to bottom. edges: x of each cut between its columns; none without columns."""

    top: int
    bottom: int
    edges: tuple[int, ...]


class ColumnFinder:
    """Finds columns in the boxes of one page. Results are cached, as boxes are cut again and again.

    obstacles, rules: [H, W] bool.
    """

    def __init__(self, obstacles: Mask, rules: Mask) -> None:
        self._obstacles, self._rules = obstacles, rules
        self._found: dict[tuple[Box, float, Texture], Segment | None] = {}
        self._rows: dict[tuple[Box, float], _Rows] = {}

    def find(self, box: Box, x_height_px: float, texture: Texture = RUNNING_TEXT) -> Segment | None:
        """Returns the stretch of a box that splits best into columns of text; None where there is none.

        Anything above or below it, such as a title over all columns, is left out. The best stretch is the tallest, and
        of several with different gutters the one with the most column height in all.
        """
        key = box, x_height_px, texture
        if key not in self._found:
            x0, y0, x1, y1 = box
            window, ruled = self._obstacles[y0:y1, x0:x1], self._rules[y0:y1, x0:x1]
            if key[:2] not in self._rows:
                self._rows[key[:2]] = _rows_of(window, x_height_px)
            self._found[key] = _columns(window, ruled, self._rows[key[:2]], box, x_height_px, texture)
        return self._found[key]


def _rows_of(window: Mask, x_height_px: float) -> _Rows:
    """Returns a box's rows of print without header and page number; none where there are too many."""
    bands = _without_furniture(bands_of(window), x_height_px)
    few = bands if len(bands) <= _MAX_BANDS else []
    return few, [bits_of(profile(window[top:bottom], x_height_px)) for top, bottom in few]


def _columns(
    window: Mask, ruled: Mask, rows: _Rows, box: Box, x_height_px: float, texture: Texture
) -> Segment | None:
    """Computes ColumnFinder.find() for one box. window, ruled: the box's obstacles and rules."""
    x0, y0, _, _ = box
    bands, inked = rows
    if not bands:
        return None
    least_px = texture.gutter_px(x_height_px)
    best: tuple[int, int, list[int]] | None = None
    most, failed = 0, list[tuple[int, int, int]]()
    for first, last in _stretches(inked, least_px):
        top, bottom = bands[first][0], bands[last][1]
        open_ = _middles(inked[first : last + 1], least_px)
        if (bottom - top) * len(open_) <= most or len(failed) == _MAX_TRIES:
            continue
        if any(_is_like((top, bottom, len(open_)), other) for other in failed):
            continue
        edges = _text_edges(window[top:bottom], ruled[top:bottom], open_, x_height_px, texture)
        if (bottom - top) * len(edges) > most:
            most = (bottom - top) * len(edges)
            best = first, last, edges
        elif not edges:
            failed.append((top, bottom, len(open_)))
    if best is None:
        return None
    first, last, edges = best
    if texture is RUNNING_TEXT:
        first, last, edges = _taller(window, rows, best, x_height_px)
        beside = ruled[bands[first][0] : bands[last][1]]
        # A rule over only some of the gutters belongs to print that stands across those.
        edges = [x for x in edges if not _rules_across(beside, x)] or edges
    else:
        first, last, edges = _extended(rows, *best, x_height_px)
        beside = ruled[bands[first][0] : bands[last][1]]
        if any(_rules_across(beside, x) > _MAX_RULES for x in edges):
            return None
    return Segment(top=y0 + bands[first][0], bottom=y0 + bands[last][1], edges=tuple(x0 + x for x in edges))


def _without_furniture(bands: list[tuple[int, int]], x_height_px: float) -> list[tuple[int, int]]:
    """Returns the bands without header and page number, which stand alone even where they leave a gutter free."""
    far, line = FURNITURE_WHITE * x_height_px, HIGHEST_LINE * x_height_px
    while len(bands) > 1 and bands[0][1] - bands[0][0] < line and bands[1][0] - bands[0][1] > far:
        bands = bands[1:]
    while len(bands) > 1 and bands[-1][1] - bands[-1][0] < line and bands[-1][0] - bands[-2][1] > far:
        bands = bands[:-1]
    return bands


def _taller(
    window: Mask, rows: _Rows, best: tuple[int, int, list[int]], x_height_px: float
) -> tuple[int, int, list[int]]:
    """Returns a taller stretch around the best one, with some of its edges, where print stands across the other
    columns.

    An example is a table over two of three columns: the third is cut off first, or its head would come before the
    table.
    """
    (bands, inked), (first, last, edges) = rows, best
    least_px = RUNNING_TEXT.gutter_px(x_height_px)
    for upper, lower in _stretches(inked, least_px):
        if not (upper <= first and last <= lower) or (upper, lower) == (first, last):
            continue
        open_ = _middles(inked[upper : lower + 1], least_px)
        kept = [x for x in open_ if any(abs(x - edge) <= _SHIFT * x_height_px for edge in edges)]
        beyond = [(bands[upper][0], bands[first][0]), (bands[last][1], bands[lower][1])]
        if 0 < len(kept) < len(edges) and any(_runs_on(window, ends, kept, x_height_px) for ends in beyond):
            return upper, lower, kept
    return best


def _runs_on(window: Mask, rows: tuple[int, int], edges: list[int], x_height_px: float) -> bool:
    """Returns whether all sides of edges are filled in these rows, and one of them with text."""
    part = window[rows[0] : rows[1]]
    if len(part) < _LEAST_BESIDE * x_height_px:
        return False
    sides = [part[:, left:right] for left, right in pairwise([0, *edges, part.shape[1]])]
    filled = all(np.mean(side.any(axis=1)) >= _BESIDE for side in sides)
    return filled and any(is_text(side, x_height_px, RUNNING_TEXT) for side in sides)


def profile(band: Mask, x_height_px: float, *, leaders: bool = True) -> npt.NDArray[np.bool_]:
    """Returns which columns of a band have ink, [W]. Wide word spaces of headings count as ink.

    leaders: gaps between dots do too.
    """
    inked: npt.NDArray[np.bool_] = np.any(band, axis=0)
    if band.shape[0] <= HIGHEST_LINE * x_height_px:
        hits = np.flatnonzero(inked)
        spaces = np.diff(hits)
        filled = spaces <= max(1.0, _HEADING_SPACE * band.shape[0])
        if leaders:
            wide = np.flatnonzero(~filled)
            filled[wide] = _are_dots(band, inked, hits[wide], hits[wide + 1], x_height_px)
        inked[_within(hits[:-1][filled], hits[1:][filled])] = True
    return inked


def _within(starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Returns all numbers from each start up to its end."""
    lengths = ends - starts
    first = starts - np.cumsum(lengths) + lengths
    numbers: npt.NDArray[np.int64] = np.arange(lengths.sum()) + np.repeat(first, lengths)
    return numbers


def _are_dots(
    band: Mask,
    inked: npt.NDArray[np.bool_],
    lefts: npt.NDArray[np.int64],
    rights: npt.NDArray[np.int64],
    x_height_px: float,
) -> npt.NDArray[np.bool_]:
    """Returns whether the marks on both sides of gaps, which end at lefts and begin at rights, are a leader's dots."""
    most = max(_MIN_DOT_PX, round(_DOT * x_height_px))
    reached = np.concatenate(([0], np.cumsum(inked)))
    # Most marks are wider, which a first cheap check shows.
    first, end = np.maximum(0, lefts - most), np.minimum(len(inked), rights + most + 1)
    narrow = reached[lefts + 1] - reached[first] < lefts + 1 - first
    narrow &= reached[end] - reached[rights] < end - rights
    for start in (lefts - most, rights):
        index = np.flatnonzero(narrow)
        # Beyond the band's ends its last columns are checked twice.
        columns = np.clip(start[index, None] + np.arange(most + 1), 0, len(inked) - 1)
        narrow[index] = np.count_nonzero(band[:, columns].any(axis=2), axis=0) <= most
    return narrow


def _is_like(stretch: tuple[int, int, int], failed: tuple[int, int, int]) -> bool:
    """Returns whether a stretch is most of one that was found to be no text; both are (top, bottom, gutters)."""
    top, bottom, number = stretch
    inside = failed[0] <= top and bottom <= failed[1] and number == failed[2]
    return inside and bottom - top > _MOST * (failed[1] - failed[0])


def _extended(
    rows: _Rows, first: int, last: int, edges: list[int], x_height_px: float
) -> tuple[int, int, list[int]]:
    """Returns the stretch extended by close bands that leave its gutters open, since those are of the same kind."""
    (bands, inked), room = rows, PARAGRAPH_WHITE * x_height_px

    def with_band(band: int) -> list[int]:
        """Returns the gutters that are left with one more band, one for each edge; fewer where it crosses one."""
        least_px = max(MIN_GUTTER_PX, round(OPEN_GUTTER * x_height_px))
        open_ = _middles(inked[min(first, band) : max(last, band) + 1], least_px)
        near = [
            sorted((abs(x - edge), x) for x in open_ if abs(x - edge) <= _SHIFT * x_height_px)[:1]
            for edge in edges
        ]
        return [x for nearest in near for _, x in nearest]

    for step in (-1, 1):
        band = (first if step < 0 else last) + step
        while (
            0 <= band < len(bands)
            and bands[max(band, band - step)][0] - bands[min(band, band - step)][1] <= room
        ):
            if len(moved := with_band(band)) < len(edges):
                break
            first, last, edges = min(first, band), max(last, band), moved
            band += step
    return first, last, edges


def _middles(inked: Sequence[int], least_px: int) -> list[int]:
    """Returns the middles of the gutters that several bands leave open together."""
    return [gutter.middle for gutter in gutters(together(inked), least_px)]


def _stretches(inked: list[int], least_px: int) -> list[tuple[int, int]]:
    """Returns runs of bands (first, last) that share gutters and would share fewer with the next, tallest first."""
    found: dict[tuple[int, int], None] = {}
    for first, taken in enumerate(inked):
        number, last = num_gutters(taken, least_px), first
        while number:
            last += 1
            with_next = taken | inked[last] if last < len(inked) else taken
            now = num_gutters(with_next, least_px) if last < len(inked) else 0
            if now < number:
                found[first, last - 1] = None
            taken, number = with_next, now
    return sorted(found, key=lambda run: run[0] - run[1])


def _text_edges(
    window: Mask, rules: Mask, between: list[int], x_height_px: float, texture: Texture
) -> list[int]:
    """Returns the gutters between columns of text; none if any side is no text, as in a table or beside notes."""
    if texture.even:
        return _even_edges(window, rules, between, x_height_px, texture)
    edges = [0, *between, window.shape[1]]
    sides = Sides(window, edges)
    kept: list[int] = []
    left = 0
    for edge in edges[1:]:
        if sides.is_text(left, edge, x_height_px, texture):
            kept.append(edge)
            left = edge
    if left != edges[-1]:
        kept = _with_short_end(window, edges, x_height_px, texture)
    inner = kept[:-1]
    return [] if any(_rules_across(rules, x) > _MAX_RULES for x in inner) else inner


def _with_short_end(window: Mask, edges: list[int], x_height_px: float, texture: Texture) -> list[int]:
    """Returns the edges if the last column is as wide as the others with only a few lines at its head; else none."""
    if texture is not RUNNING_TEXT:
        return []
    sides = [window[:, left:right] for left, right in pairwise(edges)]
    widths = [np.ptp(np.flatnonzero(side.any(axis=0))) for side in sides]
    if min(widths) < _ALIKE * max(widths):
        return []
    *others, last = sides
    ends = is_text(last, x_height_px, texture, _FEW_LINES)
    return edges[1:] if ends and all(is_text(side, x_height_px, texture) for side in others) else []


def _even_edges(
    window: Mask, rules: Mask, between: list[int], x_height_px: float, texture: Texture
) -> list[int]:
    """Returns the gutters that split the window into the most columns of equal width, all of them text."""
    free = [x for x in between if _rules_across(rules, x) <= _MAX_RULES][:_MAX_EVEN_GUTTERS]
    hits = np.flatnonzero(np.any(window, axis=0)).tolist() if free else []
    for number in range(_MAX_EVEN_COLUMNS - 1, 0, -1):
        for edges in combinations(free, number):
            if not are_even(hits, edges):
                continue
            sides = [window[:, left:right] for left, right in pairwise([0, *edges, window.shape[1]])]
            if all(is_listing(side) and is_text(side, x_height_px, texture) for side in sides):
                return list(edges)
    return []


def _rules_across(rules: Mask, x: int) -> int:
    """Returns how many level rules cross a gutter."""
    near = rules[:, max(0, x - _NEAR_PX) : x + _NEAR_PX].all(axis=1)
    return int(np.count_nonzero(np.diff(near.astype(np.int8)) == 1))
