"""Cutting a page that holds more than the model reads in one go.

A small model reads a page well as long as there is not too much on it and its letters are not too small. Other
pages are cut along white space, columns of text first and then between lines, until every part is such a page.
A page without clear white space, like a photo, stays whole.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from encoders.views import UInt8Array
from ocr.parts.burden import burden
from ocr.parts.columns import find_columns
from ocr.parts.cutter import Cutter, PartSize
from ocr.parts.ink import Ink, Mask, find_ink
from ocr.parts.lines import Lines, find_lines
from ocr.parts.skew import skew_deg
from ocr.parts.texture import EVEN_TEXT, LOOSE_TEXT, RUNNING_TEXT, Texture
from ocr.parts.types import Box, Part, PartPlan, canvas_px
from ocr.tiling import Grid, choose_grid

# On more than this the small model begins to skip and to repeat.
DENSE_CHARS = 3200.0
MIN_X_HEIGHT_PX = 7.0
MAX_PARTS = 16
# Of all parts together, which bounds the memory that a page takes.
MAX_TILES = 48
# A page that is cut at all is cut into parts well below the limit.
COARSE = PartSize(max_chars=2600.0, min_x_height_px=MIN_X_HEIGHT_PX, textures=(RUNNING_TEXT, EVEN_TEXT))
# What is cut finely, because it was read badly: few lines that look alike are left in one part.
FINE = PartSize(
    max_chars=800.0, min_x_height_px=MIN_X_HEIGHT_PX, textures=(RUNNING_TEXT, EVEN_TEXT, LOOSE_TEXT)
)
_MIN_CHARS = 150.0
# Photographs and textures have under 0.63 of their marks in rows, clean pages over 0.9.
_MIN_IN_ROWS = 0.65
_ANALYSIS_PX = 2600
_MIN_SKEW_DEG = 0.3
_WORTH_CROPPING = 1.25


@dataclass(frozen=True, slots=True)
class _Region:
    """What is cut: the page, or its part of this number."""

    box: Box
    paragraph_break: bool
    number: int | None


def plan(pixels: UInt8Array, max_tiles: int, grid: Grid | None = None, *, fine: bool = False) -> PartPlan:
    """Returns how a page is cut; no parts where it is to be read whole.

    pixels: [H, W, 3] uint8 RGB. grid: that of the whole page where something else than its size decided it.
    fine: cut a page that could be read whole too, into small parts, and along gutters that may be a table's. A page
    that is cut anyway has its parts cut further, unless such gutters go through them.
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
    is_hard = is_dense or lines.x_height_px() * scale < MIN_X_HEIGHT_PX
    if not (fine or is_hard):
        return PartPlan()
    angle = skew_deg(ink.text)
    angle = angle if abs(angle) >= _MIN_SKEW_DEG else 0.0
    if angle:
        ink = _turned(ink, angle)
        lines = find_lines(ink.text)
    regions = [_Region(page, paragraph_break=True, number=None)]
    parts = _cut(ink, lines, max_tiles, regions, COARSE) if is_hard else ()
    parts = parts if _is_gain(parts, scale) else ()
    if fine:
        if parts and not _has_only_loose_columns(ink, lines, page):
            regions = [_Region(part.box_px, part.paragraph_break, index) for index, part in enumerate(parts)]
        parts = _cut(ink, lines, max_tiles, regions, FINE)
        parts = parts if _is_gain(parts, scale) else ()
    if not parts:
        return PartPlan()
    # Reduced pixels are whole blocks, the last one perhaps beyond the page.
    analysed = PartPlan(parts=parts, angle_deg=angle, size_px=grey.size)
    return analysed.scaled(pixels.shape[1], pixels.shape[0]) if factor > 1 else analysed


def _cut(
    ink: Ink, lines: Lines, max_tiles: int, regions: Sequence[_Region], size: PartSize
) -> tuple[Part, ...]:
    """The parts of all regions; none where they are too many."""
    for leniency in (1.0, 1.35, 1.8, 2.5):
        cutter = Cutter(ink, lines, max_tiles, size.relaxed(leniency))
        found = tuple(
            replace(part, within=region.number)
            for region in regions
            for part in cutter.cut(region.box, paragraph_break=region.paragraph_break)
        )
        if len(found) <= MAX_PARTS and sum(part.num_tiles for part in found) <= MAX_TILES:
            return found
    return ()


def _has_only_loose_columns(ink: Ink, lines: Lines, page: Box) -> bool:
    def has(texture: Texture) -> bool:
        return find_columns(ink.obstacles, ink.rules, page, lines.x_height_px(0.5), texture) is not None

    return has(LOOSE_TEXT) and not any(map(has, COARSE.textures))


def _is_gain(parts: Sequence[Part], scale: float) -> bool:
    """A single part is worth it where it enlarges the letters: small print amid white paper."""
    return len(parts) > 1 or (len(parts) == 1 and parts[0].scale >= _WORTH_CROPPING * scale)


def _turned(ink: Ink, angle_deg: float) -> Ink:
    def turn(mask: Mask) -> Mask:
        picture = Image.fromarray(mask.view(np.uint8) * np.uint8(255))
        return np.asarray(picture.rotate(angle_deg, Image.Resampling.NEAREST)) > 0

    return Ink(text=turn(ink.text), rules=turn(ink.rules), pictures=turn(ink.pictures))
