"""Cuts one box of a page into crops: around a frame, along columns of text, then between lines."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ocr.imaging.ink import Ink
from ocr.imaging.measures import LOWEST_MARK
from ocr.layout.bands import bands_of
from ocr.layout.columns import ColumnFinder, Segment
from ocr.layout.crops import MAX_CROPS, Box, Crop
from ocr.layout.letter_sizes import Lines
from ocr.layout.split.crop_canvas import frame
from ocr.layout.split.crossings import segments
from ocr.layout.split.framed_page import find_frame
from ocr.layout.split.text_amount import weighted_chars
from ocr.layout.texture import RUNNING_TEXT, Texture

# A crop with no more text than this stays whole, even in columns.
_FEW_CHARS = 400.0
# The least gap between lines to cut in, in x-heights and pixels, and the margin kept around a crop's ink.
_MIN_GAP, _MIN_GAP_PX, _MARGIN, _MIN_MARGIN_PX = 0.2, 2.0, 0.5, 3
# The least share of a region's text above and below a cut.
_MIN_SHARE = 0.08
# What a gap as wide as the usual one is worth, as a share of the text by which it misses the best place; wider ones
# are worth more up to this many times. From the other ratio on a gap is between paragraphs.
_WORTH, _MOST_WIDE, _PARAGRAPH = 0.12, 3.0, 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class CropLimits:
    """Limits of a crop.

    max_chars: the most characters; min_x_height_px: the least x-height on its tiles.
    textures: the textures that count as columns of text, tried in this order.
    """

    max_chars: float
    min_x_height_px: float
    textures: Sequence[Texture]

    def relaxed(self, leniency: float) -> "CropLimits":
        """Returns limits for larger crops with smaller letters; unchanged ones for a leniency of 1."""
        return replace(
            self,
            max_chars=leniency * self.max_chars,
            min_x_height_px=self.min_x_height_px / leniency**0.5,
        )


@dataclass(frozen=True, slots=True)
class _Gap:
    """Rows without ink, top to bottom; share: that of the region's characters above them."""

    top: int
    bottom: int
    share: float

    @property
    def middle(self) -> int:
        """The y of its middle."""
        return (self.top + self.bottom) // 2


class Cutter:
    """Cuts boxes of one page. max_tiles: the most tiles of a crop; finder: the page's, where there is one."""

    def __init__(
        self, ink: Ink, lines: Lines, max_tiles: int, size: CropLimits, finder: ColumnFinder | None = None
    ) -> None:
        self._obstacles, self._rules = ink.obstacles, ink.rules
        self._finder = finder or ColumnFinder(self._obstacles, self._rules)
        self._lines = lines
        self._max_tiles = max_tiles
        self._size = size

    def cut(self, box: Box, *, paragraph_break: bool) -> list[Crop]:
        """Returns the crops of a box in reading order; none where it has no ink."""
        tight = self._tight(box)
        if tight is None:
            return []
        lines = self._lines.within(*tight)
        whole = [self._crop(tight, lines, paragraph_break)]
        if lines.total_chars <= _FEW_CHARS:
            return whole
        # In the box itself: a frame may go around all of its ink.
        if crops := self._by_frame(box, paragraph_break):
            return crops
        if crops := self._by_columns(tight, lines, paragraph_break):
            return crops
        if self._fits(tight, lines):
            return whole
        return self._by_rows(tight, lines, paragraph_break) or whole

    def _by_frame(self, box: Box, paragraph_break: bool) -> list[Crop]:
        """Cuts the areas above a frame, left of it, in it, right of it, and below; none where there is no frame."""
        found = find_frame(self._obstacles, self._rules, box)
        if found is None:
            return []
        x0, y0, x1, y1 = box
        left, top, right, bottom = found
        x_height_px = self._lines.x_height_px(0.5)
        top = top if self._has_marks((x0, y0, x1, top), x_height_px) else y0
        bottom = bottom if self._has_marks((x0, bottom, x1, y1), x_height_px) else y1
        crops = self.cut((x0, y0, x1, top), paragraph_break=paragraph_break)
        for side in ((x0, top, left, bottom), found, (right, top, x1, bottom)):
            crops += self.cut(side, paragraph_break=paragraph_break or bool(crops))
        return crops + self.cut((x0, bottom, x1, y1), paragraph_break=True)

    def _by_columns(self, box: Box, lines: Lines, paragraph_break: bool) -> list[Crop]:
        """Cuts columns, and the print that stands across them, from top to bottom; none where there are no columns."""
        x0, _, x1, _ = box
        crops: list[Crop] = []
        for segment in self._segments(box, lines.x_height_px(0.5)):
            apart = bool(crops) or paragraph_break
            for left, right in pairwise([x0, *segment.edges, x1]):
                piece = (left, segment.top, right, segment.bottom)
                crops += self.cut(piece, paragraph_break=apart and left == x0)
        return crops

    def _segments(self, box: Box, x_height_px: float) -> list[Segment]:
        """Returns the segments of a box that has columns of text; none for another box."""
        for texture in self._size.textures:
            found = self._finder.find(box, x_height_px, texture)
            if found is None:
                continue
            if texture is not RUNNING_TEXT:
                return self._around(box, found, x_height_px)
            parted = segments(self._obstacles, self._rules, box, found, x_height_px)
            if any(segment.edges for segment in parted):
                return parted
        return []

    def _around(self, box: Box, found: Segment, x_height_px: float) -> list[Segment]:
        """Returns three segments: the print above the columns, the columns, and the print below."""
        x0, y0, x1, y1 = box
        top = found.top if self._has_marks((x0, y0, x1, found.top), x_height_px) else y0
        bottom = found.bottom if self._has_marks((x0, found.bottom, x1, y1), x_height_px) else y1
        return [
            Segment(top=y0, bottom=top, edges=()),
            Segment(top=top, bottom=bottom, edges=found.edges),
            Segment(top=bottom, bottom=y1, edges=()),
        ]

    def _has_marks(self, box: Box, x_height_px: float) -> bool:
        """Returns whether a box holds more than an accent or the foot of a letter from the line beside it."""
        x0, y0, x1, y1 = box
        rows = np.count_nonzero(np.any(self._obstacles[y0:y1, x0:x1], axis=1))
        return int(rows) >= LOWEST_MARK * x_height_px

    def _by_rows(self, box: Box, lines: Lines, paragraph_break: bool) -> list[Crop]:
        """Cuts once, in a wide gap nearest to where equal pieces of the right size would end."""
        x0, y0, x1, y1 = box
        gaps = self._gaps(box, lines)
        if not gaps:
            return []
        num_crops = self._num_crops(box, lines)
        target = (num_crops // 2) / num_crops
        usual = float(np.median([gap.bottom - gap.top for gap in gaps]))

        def merit(gap: _Gap) -> float:
            wide = min((gap.bottom - gap.top) / max(usual, 1.0), _MOST_WIDE)
            return _WORTH * wide - abs(gap.share - target)

        best = max(gaps, key=merit)
        apart = best.bottom - best.top > _PARAGRAPH * usual
        upper = self.cut((x0, y0, x1, best.middle), paragraph_break=paragraph_break)
        return upper + self.cut((x0, best.middle, x1, y1), paragraph_break=apart)

    def _num_crops(self, box: Box, lines: Lines) -> int:
        """Returns into how many pieces of equal height the box must be cut for them to fit."""
        x0, y0, x1, y1 = box
        chars, x_height = weighted_chars(self._obstacles, lines, box), lines.x_height_px()
        for number in range(2, MAX_CROPS + 1):
            piece = (x0, y0, x1, y0 + max(1, (y1 - y0) // number))
            large = frame(piece, x_height, self._max_tiles).scale * x_height >= self._size.min_x_height_px
            if large and chars / number <= self._size.max_chars:
                return number
        return max(2, min(MAX_CROPS, math.ceil(chars / self._size.max_chars)))

    def _gaps(self, box: Box, lines: Lines) -> list[_Gap]:
        x0, y0, x1, y1 = box
        middles = (lines.top + lines.bottom) / 2
        order = np.argsort(middles)
        middles = middles[order]
        above = np.concatenate(([0.0], np.cumsum(lines.num_chars[order])))
        total = max(above[-1], 1.0)
        least_px = max(_MIN_GAP_PX, _MIN_GAP * lines.x_height_px(0.5))
        found = []
        for (_, top), (bottom, _) in pairwise(bands_of(self._obstacles[y0:y1, x0:x1])):
            share = float(above[int(np.searchsorted(middles, y0 + (top + bottom) / 2))] / total)
            if bottom - top >= least_px and _MIN_SHARE < share < 1 - _MIN_SHARE:
                found.append(_Gap(y0 + top, y0 + bottom, share))
        return found

    def _fits(self, box: Box, lines: Lines) -> bool:
        x_height = lines.x_height_px()
        if not x_height:
            return True
        scale = frame(box, x_height, self._max_tiles).scale
        return (
            weighted_chars(self._obstacles, lines, box) <= self._size.max_chars
            and x_height * scale >= self._size.min_x_height_px
        )

    def _tight(self, box: Box) -> Box | None:
        """Returns the box around the ink of a box, with a margin that stays inside it."""
        x0, y0, x1, y1 = box
        if x0 >= x1 or y0 >= y1:
            return None
        window = self._obstacles[y0:y1, x0:x1]
        ys, xs = _ends(np.any(window, axis=1)), _ends(np.any(window, axis=0))
        if ys is None or xs is None:
            return None
        margin = max(_MIN_MARGIN_PX, round(_MARGIN * self._lines.x_height_px(0.5)))
        return (
            max(x0, x0 + xs[0] - margin),
            max(y0, y0 + ys[0] - margin),
            min(x1, x0 + xs[1] + margin),
            min(y1, y0 + ys[1] + margin),
        )

    def _crop(self, box: Box, lines: Lines, paragraph_break: bool) -> Crop:
        chosen = frame(box, lines.x_height_px() or self._lines.x_height_px(), self._max_tiles)
        return Crop(box_px=box, frame_px=chosen.frame_px, grid=chosen.grid, paragraph_break=paragraph_break)


def _ends(flags: npt.NDArray[np.bool_]) -> tuple[int, int] | None:
    """Returns the first set flag and the one after the last."""
    hits = np.flatnonzero(flags)
    return (int(hits[0]), int(hits[-1]) + 1) if len(hits) else None
