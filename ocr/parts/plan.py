"""Cutting a page that holds more than the model reads in one go.

A small model reads a page well as long as there is not too much on it and its letters are not too small. Other
pages are cut along white space, columns of text first and then between lines, until every part is such a page.
A page without clear white space, like a photo, stays whole.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from PIL import Image

from encoders.views import UInt8Array
from ocr.parts.burden import burden
from ocr.parts.columns import LOOSE_TEXT, RUNNING_TEXT, Texture, find_columns
from ocr.parts.frame import frame
from ocr.parts.ink import Ink, Mask, find_ink
from ocr.parts.lines import Lines, find_lines
from ocr.parts.skew import skew_deg
from ocr.parts.types import Box, Part, PartPlan, canvas_px
from ocr.tiling import Grid, choose_grid

# On more than this the small model begins to skip and to repeat.
DENSE_CHARS = 3200.0
# A page that is cut at all is cut into parts well below that.
MAX_CHARS = 2600.0
# What is cut finely, because it was read badly: few lines that look alike are left in one part.
FINE_CHARS = 800.0
MIN_X_HEIGHT_PX = 7.0
MAX_PARTS = 16
# Of all parts together, which bounds the memory that a page takes.
MAX_TILES = 48
_MIN_CHARS = 150.0
# Photographs and textures have under 0.63 of their marks in rows, clean pages over 0.9.
_MIN_IN_ROWS = 0.65
# A part with no more text than this stays in one piece, even in columns.
_FEW_CHARS = 400.0
_ANALYSIS_PX = 2600
_MIN_SKEW_DEG = 0.3
_WORTH_CROPPING = 1.25
_NOISE_PX = 1


def plan(pixels: UInt8Array, max_tiles: int, grid: Grid | None = None, *, fine: bool = False) -> PartPlan:
    """Returns how a page is cut; no parts where it is to be read whole.

    pixels: [H, W, 3] uint8 RGB. grid: that of the whole page where something else than its size decided it.
    fine: cut a page that could be read whole too, into small parts, and along gutters that may be a table's.
    """
    grey = Image.fromarray(pixels).convert("L")
    factor = max(1, math.ceil(max(grey.size) / _ANALYSIS_PX))
    if factor > 1:
        grey = grey.reduce(factor)
    ink = find_ink(grey)
    lines = find_lines(ink.text)
    columns, rows = canvas_px(grid or choose_grid(pixels.shape[1], pixels.shape[0], max_tiles))
    scale = min(columns / grey.width, rows / grey.height)
    page = (0, 0, grey.width, grey.height)
    if lines.total_chars < _MIN_CHARS or lines.share_in_rows() < _MIN_IN_ROWS:
        return PartPlan()
    is_dense = burden(ink.obstacles, lines, page) > DENSE_CHARS
    if not (fine or is_dense) and lines.x_height_px() * scale >= MIN_X_HEIGHT_PX:
        return PartPlan()
    max_chars, texture = (FINE_CHARS, LOOSE_TEXT) if fine else (MAX_CHARS, RUNNING_TEXT)
    angle = skew_deg(ink.text)
    angle = angle if abs(angle) >= _MIN_SKEW_DEG else 0.0
    if angle:
        ink = _turned(ink, angle)
        lines = find_lines(ink.text)
    for leniency in (1.0, 1.35, 1.8, 2.5):
        cutter = _Cutter(
            ink, lines, max_tiles, leniency * max_chars, MIN_X_HEIGHT_PX / leniency**0.5, texture
        )
        found = cutter.cut(page, paragraph_break=True)
        if fits := len(found) <= MAX_PARTS and sum(part.num_tiles for part in found) <= MAX_TILES:
            break
    # A single part is worth it where it enlarges the letters: small print amid white paper.
    is_gain = len(found) > 1 or (len(found) == 1 and found[0].scale >= _WORTH_CROPPING * scale)
    if not fits or not is_gain:
        return PartPlan()
    # Reduced pixels are whole blocks, the last one perhaps beyond the page.
    analysed = PartPlan(parts=tuple(found), angle_deg=angle, size_px=grey.size)
    return analysed.scaled(pixels.shape[1], pixels.shape[0]) if factor > 1 else analysed


def _turned(ink: Ink, angle_deg: float) -> Ink:
    def turn(mask: Mask) -> Mask:
        picture = Image.fromarray(mask.view(np.uint8) * np.uint8(255))
        return np.asarray(picture.rotate(angle_deg, Image.Resampling.NEAREST)) > 0

    return Ink(text=turn(ink.text), rules=turn(ink.rules), pictures=turn(ink.pictures))


@dataclass(frozen=True, slots=True)
class _Gap:
    """Rows top to bottom without ink; share: of the region's characters above it."""

    top: int
    bottom: int
    share: float

    @property
    def middle(self) -> int:
        return (self.top + self.bottom) // 2


class _Cutter:
    def __init__(
        self,
        ink: Ink,
        lines: Lines,
        max_tiles: int,
        max_chars: float,
        min_x_height_px: float,
        texture: Texture,
    ) -> None:
        self._obstacles, self._rules = ink.obstacles, ink.rules
        self._lines = lines
        self._max_tiles = max_tiles
        self._max_chars, self._min_x_height_px = max_chars, min_x_height_px
        self._texture = texture

    def cut(self, box: Box, *, paragraph_break: bool) -> list[Part]:
        """Returns the parts of a box in reading order; none where it has no ink."""
        tight = self._tight(box)
        if tight is None:
            return []
        lines = self._lines.within(*tight)
        whole = [self._part(tight, lines, paragraph_break)]
        if lines.total_chars <= _FEW_CHARS:
            return whole
        if parts := self._by_columns(tight, lines, paragraph_break):
            return parts
        if self._fits(tight, lines):
            return whole
        return self._by_rows(tight, lines, paragraph_break) or whole

    def _by_columns(self, box: Box, lines: Lines, paragraph_break: bool) -> list[Part]:
        x_height_px = lines.x_height_px(0.5)
        found = find_columns(self._obstacles, self._rules, box, x_height_px, self._texture)
        if found is None:
            return []
        x0, y0, x1, y1 = box
        top = found.top if self._has_marks((x0, y0, x1, found.top), x_height_px) else y0
        bottom = found.bottom if self._has_marks((x0, found.bottom, x1, y1), x_height_px) else y1
        parts = self.cut((x0, y0, x1, top), paragraph_break=paragraph_break)
        for left, right in pairwise([x0, *found.edges, x1]):
            parts += self.cut((left, top, right, bottom), paragraph_break=left == x0 and bool(parts))
        return parts + self.cut((x0, bottom, x1, y1), paragraph_break=True)

    def _has_marks(self, box: Box, x_height_px: float) -> bool:
        """Whether there is more in a box than an accent or the foot of a letter from the line beside it."""
        x0, y0, x1, y1 = box
        rows = np.count_nonzero(np.any(self._obstacles[y0:y1, x0:x1], axis=1))
        return int(rows) >= 0.8 * x_height_px

    def _by_rows(self, box: Box, lines: Lines, paragraph_break: bool) -> list[Part]:
        """Cuts once, nearest to where equal pieces of the right size would end, in a wide gap."""
        x0, y0, x1, y1 = box
        gaps = self._gaps(box, lines)
        if not gaps:
            return []
        num_pieces = self._num_pieces(box, lines)
        target = (num_pieces // 2) / num_pieces
        usual = float(np.median([gap.bottom - gap.top for gap in gaps]))

        def merit(gap: _Gap) -> float:
            wide = min((gap.bottom - gap.top) / max(usual, 1.0), 3.0)
            return 0.12 * wide - abs(gap.share - target)

        best = max(gaps, key=merit)
        apart = best.bottom - best.top > 1.5 * usual
        upper = self.cut((x0, y0, x1, best.middle), paragraph_break=paragraph_break)
        return upper + self.cut((x0, best.middle, x1, y1), paragraph_break=apart)

    def _num_pieces(self, box: Box, lines: Lines) -> int:
        """Into how many pieces of equal height the box must be cut for them to fit."""
        x0, y0, x1, y1 = box
        chars, x_height = burden(self._obstacles, lines, box), lines.x_height_px()
        for number in range(2, MAX_PARTS + 1):
            piece = (x0, y0, x1, y0 + max(1, (y1 - y0) // number))
            large = frame(piece, x_height, self._max_tiles).scale * x_height >= self._min_x_height_px
            if large and chars / number <= self._max_chars:
                return number
        return max(2, min(MAX_PARTS, math.ceil(chars / self._max_chars)))

    def _gaps(self, box: Box, lines: Lines) -> list[_Gap]:
        x0, y0, x1, y1 = box
        counts = np.count_nonzero(self._obstacles[y0:y1, x0:x1], axis=1)
        white = np.concatenate(([False], counts <= _NOISE_PX, [False])).astype(np.int8)
        steps = np.diff(white)
        tops, bottoms = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
        middles = np.sort((lines.top + lines.bottom) / 2)
        order = np.argsort((lines.top + lines.bottom) / 2)
        above = np.concatenate(([0.0], np.cumsum(lines.num_chars[order])))
        total = max(above[-1], 1.0)
        least_px = max(2.0, 0.2 * lines.x_height_px(0.5))
        found = []
        for top, bottom in zip(tops.tolist(), bottoms.tolist(), strict=True):
            share = float(above[int(np.searchsorted(middles, y0 + (top + bottom) / 2))] / total)
            if bottom - top >= least_px and 0.08 < share < 0.92:
                found.append(_Gap(y0 + top, y0 + bottom, share))
        return found

    def _fits(self, box: Box, lines: Lines) -> bool:
        x_height = lines.x_height_px()
        if not x_height:
            return True
        scale = frame(box, x_height, self._max_tiles).scale
        return (
            burden(self._obstacles, lines, box) <= self._max_chars
            and x_height * scale >= self._min_x_height_px
        )

    def _tight(self, box: Box) -> Box | None:
        """The box around the ink of a box, with a margin that stays inside it."""
        x0, y0, x1, y1 = box
        if x0 >= x1 or y0 >= y1:
            return None
        window = self._obstacles[y0:y1, x0:x1]
        ys, xs = _ends(np.any(window, axis=1)), _ends(np.any(window, axis=0))
        if ys is None or xs is None:
            return None
        margin = max(3, round(0.5 * self._lines.x_height_px(0.5)))
        return (
            max(x0, x0 + xs[0] - margin),
            max(y0, y0 + ys[0] - margin),
            min(x1, x0 + xs[1] + margin),
            min(y1, y0 + ys[1] + margin),
        )

    def _part(self, box: Box, lines: Lines, paragraph_break: bool) -> Part:
        chosen = frame(box, lines.x_height_px() or self._lines.x_height_px(), self._max_tiles)
        return Part(box_px=box, frame_px=chosen.frame_px, grid=chosen.grid, paragraph_break=paragraph_break)


def _ends(flags: npt.NDArray[np.bool_]) -> tuple[int, int] | None:
    """The first set flag and the one after the last."""
    hits = np.flatnonzero(flags)
    return (int(hits[0]), int(hits[-1]) + 1) if len(hits) else None
