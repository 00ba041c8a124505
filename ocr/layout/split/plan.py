"""Plans how to cut a page that holds more than the model reads in one go.

A small model reads a page well as long as there is not too much on it and its letters are not too small. Other
pages are cut along white space, columns of text first and then between lines, until every crop is such a page.
A page without clear white space, like a photo, stays whole.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from encoders.views import UInt8Array
from ocr.imaging.ink import Ink, find_ink
from ocr.imaging.planes import picture_of
from ocr.imaging.profiles import Mask
from ocr.imaging.tiling import Grid, choose_grid
from ocr.layout.columns import ColumnFinder
from ocr.layout.crops import MAX_CROPS, MAX_TILES, Box, Crop, CropPlan, canvas_px
from ocr.layout.large_type import LargeType, find_large_type
from ocr.layout.letter_sizes import Lines, find_lines
from ocr.layout.skew import MAX_DEG, MAX_SLANT_DEG, skew_deg
from ocr.layout.split.crop_canvas import frame
from ocr.layout.split.cutter import CropLimits, Cutter
from ocr.layout.split.text_amount import weighted_chars
from ocr.layout.texture import EVEN_TEXT, LOOSE_TEXT, RUNNING_TEXT, Texture
from ocr.orientation.detect import shows_words

# With more than this on a page the small model begins to skip and to repeat.
DENSE_CHARS = 3200.0
MIN_X_HEIGHT_PX = 7.0
# The most crops of a page that cannot be cut into fewer, as one of many short sections, and would be read whole; each
# above MAX_CROPS takes no more memory than this many tiles.
_MOST_CROPS, _TILES_OF_A_CROP = 24, 3
# A page that is cut at all is cut into crops well below the limit.
COARSE = CropLimits(max_chars=2600.0, min_x_height_px=MIN_X_HEIGHT_PX, textures=(RUNNING_TEXT, EVEN_TEXT))
# For pages cut finely because they were read badly: few lines that look alike are left in one crop.
FINE = CropLimits(
    max_chars=800.0, min_x_height_px=MIN_X_HEIGHT_PX, textures=(RUNNING_TEXT, EVEN_TEXT, LOOSE_TEXT)
)
# A page that cannot be cut into few enough crops has its limits relaxed by these factors in turn.
_LENIENCIES = (1.0, 1.35, 1.8, 2.5)
_MIN_CHARS = 150.0  # with less there are too few lines to say where columns are
# Photographs and textures have under 0.63 of their marks in rows, clean pages over 0.9.
_MIN_IN_ROWS = 0.65
_ANALYSIS_PX = 2600  # larger pages are reduced: 5 pt is legible on A4 then, and time does not grow
_MIN_SKEW_DEG = 0.3  # turning costs time, and lines are cut well up to this
_WORTH_CROPPING = 1.25  # a single crop must enlarge the letters by this factor
# Level lines are nearly all in rows; where fewer are, and there is more than a few words, the page may be slanted.
_LEVEL_IN_ROWS, _FEW_CHARS = 0.9, 60.0
_MIN_SLANT_DEG, _SLANT_POINTS, _WORTH_LEVELLING = 1.0, 12_000, 0.1
# Fewer characters than this are fragments of large letters taken for lines.
_FEWEST_CHARS = 10.0
# Type larger than this on the tiles is not read well.
_MAX_X_HEIGHT_PX = 30.0
_UNDIVIDED = CropLimits(max_chars=math.inf, min_x_height_px=0.0, textures=())


@dataclass(frozen=True, slots=True)
class _Region:
    """An area to cut: the page, or its crop of this number."""

    box: Box
    paragraph_break: bool
    number: int | None


def plan(pixels: UInt8Array, max_tiles: int, grid: Grid | None = None, *, fine: bool = False) -> CropPlan:
    """Returns how to cut a page; a plan without crops where it is to be read whole.

    pixels: [H, W, 3] uint8 RGB. grid: that of the whole page where something other than its size decided it.
    fine: cut even a page that could be read whole, into small crops, and along gutters that may be a table's. A page
    that is cut anyway has its crops cut further, unless such gutters go through them.

    A page that lies askew becomes level crops, and type too large for the model becomes a crop that is reduced.
    """
    grey = picture_of(pixels).convert("L")
    factor = max(1, math.ceil(max(grey.size) / _ANALYSIS_PX))
    if factor > 1:
        grey = grey.reduce(factor)
    ink = find_ink(grey)
    lines = find_lines(ink.text)
    columns, rows = canvas_px(grid or choose_grid(pixels.shape[1], pixels.shape[0], max_tiles))
    scale = min(columns / grey.width, rows / grey.height)
    slant = 0.0
    if lines.total_chars >= _FEW_CHARS and lines.share_in_rows() < _LEVEL_IN_ROWS:
        slant, ink, lines = _levelled(ink, lines)
    if lines.total_chars < _MIN_CHARS or lines.share_in_rows() < _MIN_IN_ROWS:
        large = find_large_type(grey)
        if large is None:
            return CropPlan(shows_print=bool(slant) or shows_words(pixels))
        crops = (
            ()
            if fine or large.x_height_px * scale <= _MAX_X_HEIGHT_PX
            else _apart(large, ink, lines, max_tiles)
        )
        num_letters = large.num_letters if len(crops) == 1 else None
        analysed = CropPlan(crops=crops, size_px=grey.size, shows_print=True, num_letters=num_letters)
        return analysed.scaled(pixels.shape[1], pixels.shape[0])
    height, width = ink.text.shape
    page = (0, 0, width, height)
    is_dense = weighted_chars(ink.obstacles, lines, page) > DENSE_CHARS
    is_hard = is_dense or lines.x_height_px() * scale < MIN_X_HEIGHT_PX
    if not (fine or is_hard or slant):
        return CropPlan(shows_print=True)
    angle = slant or skew_deg(ink.text)
    angle = angle if abs(angle) >= _MIN_SKEW_DEG else 0.0
    if angle and not slant:
        ink = _turned(ink, angle)
        lines = find_lines(ink.text)
    regions = [_Region(page, paragraph_break=True, number=None)]
    finder = ColumnFinder(ink.obstacles, ink.rules)
    crops = _cut(ink, lines, max_tiles, regions, COARSE, finder) if is_hard else ()
    crops = crops if _is_gain(crops, scale) else ()
    if fine:
        if crops and not _has_only_loose_columns(finder, lines, page):
            regions = [_Region(crop.box_px, crop.paragraph_break, index) for index, crop in enumerate(crops)]
        crops = _cut(ink, lines, max_tiles, regions, FINE, finder)
        crops = crops if _is_gain(crops, scale) else ()
    if not crops and slant and not fine:
        crops = tuple(Cutter(ink, lines, max_tiles, _UNDIVIDED).cut(page, paragraph_break=True))
    if not crops:
        return CropPlan(shows_print=True)
    dx, dy = (width - grey.width) // 2, (height - grey.height) // 2
    crops = tuple(
        replace(crop, box_px=_moved(crop.box_px, dx, dy), frame_px=_moved(crop.frame_px, dx, dy))
        for crop in crops
    )
    # Reduced pixels are whole blocks, the last one perhaps beyond the page.
    analysed = CropPlan(crops=crops, angle_deg=angle, size_px=grey.size, shows_print=True)
    return analysed.scaled(pixels.shape[1], pixels.shape[0]) if factor > 1 else analysed


def _levelled(ink: Ink, lines: Lines) -> tuple[float, Ink, Lines]:
    """Returns the angle by which to turn a slanted page, and its ink and lines then; 0 and both unchanged if no turn
    helps.
    """
    slant = skew_deg(ink.text, MAX_SLANT_DEG, _SLANT_POINTS)
    if abs(slant) > _MIN_SLANT_DEG:
        turned = _turned(ink, slant)
        found = find_lines(turned.text)
        if found.share_in_rows() > max(_MIN_IN_ROWS, lines.share_in_rows() + _WORTH_LEVELLING):
            return slant, turned, found
    return 0.0, ink, lines


def _apart(large: LargeType, ink: Ink, lines: Lines, max_tiles: int) -> tuple[Crop, ...]:
    """Returns large type as a crop of its own, with the crops above and below; none where other text stands beside it.

    The crop has so much blank paper around it that its letters are of a usual size.
    """
    height, width = ink.text.shape
    left, top, right, bottom = large.box
    beside = (0, top, left, bottom), (right, top, width, bottom)
    if any(_has_words(lines, box) for box in beside):
        return ()
    chosen = frame(large.box, large.x_height_px, max_tiles)
    alone = Crop(box_px=large.box, frame_px=chosen.frame_px, grid=chosen.grid, paragraph_break=True)
    cutter = Cutter(ink, lines, max_tiles, _UNDIVIDED)
    above, below = (0, 0, width, top), (0, bottom, width, height)
    others = [
        cutter.cut(box, paragraph_break=True) if _has_words(lines, box) else [] for box in (above, below)
    ]
    return *others[0], alone, *others[1]


def _has_words(lines: Lines, box: Box) -> bool:
    return lines.within(*box).total_chars >= _FEWEST_CHARS


def _moved(box: Box, dx: int, dy: int) -> Box:
    """Returns a box of the turned page, which is larger by dx and dy on either side, in the page's own coordinates."""
    return box[0] - dx, box[1] - dy, box[2] - dx, box[3] - dy


def _cut(
    ink: Ink,
    lines: Lines,
    max_tiles: int,
    regions: Sequence[_Region],
    size: CropLimits,
    finder: ColumnFinder,
) -> tuple[Crop, ...]:
    """Returns the crops of all regions; none where there are too many."""
    tries = [(leniency, MAX_CROPS) for leniency in _LENIENCIES]
    for leniency, most in tries if size is FINE else [*tries, (_LENIENCIES[-1], _MOST_CROPS)]:
        cutter = Cutter(ink, lines, max_tiles, size.relaxed(leniency), finder)
        found = tuple(
            replace(crop, within=region.number)
            for region in regions
            for crop in cutter.cut(region.box, paragraph_break=region.paragraph_break)
        )
        num_tiles = sum(crop.num_tiles for crop in found)
        num_more = max(0, len(found) - MAX_CROPS)
        if len(found) <= most and num_tiles <= MAX_TILES - _TILES_OF_A_CROP * num_more:
            return found
    return ()


def _has_only_loose_columns(finder: ColumnFinder, lines: Lines, page: Box) -> bool:
    def has(texture: Texture) -> bool:
        return finder.find(page, lines.x_height_px(0.5), texture) is not None

    return has(LOOSE_TEXT) and not any(map(has, COARSE.textures))


def _is_gain(crops: Sequence[Crop], scale: float) -> bool:
    """Returns whether cutting helps: a single crop does where it enlarges small print amid white paper."""
    return len(crops) > 1 or (len(crops) == 1 and crops[0].scale >= _WORTH_CROPPING * scale)


def _turned(ink: Ink, angle_deg: float) -> Ink:
    def turn(mask: Mask) -> Mask:
        picture = Image.fromarray(mask.view(np.uint8) * np.uint8(255))
        expand = (
            abs(angle_deg) > MAX_DEG
        )  # otherwise print at the edge of a page that lies far askew would be lost
        return np.asarray(picture.rotate(angle_deg, Image.Resampling.NEAREST, expand=expand)) > 0

    return Ink(text=turn(ink.text), rules=turn(ink.rules), pictures=turn(ink.pictures))
