"""Makes faint print dark: on pages that have no strong contrast at all, and between the lines that were read."""

from collections.abc import Iterable

import numpy as np
from PIL import Image, ImageFilter

from encoders.views import UInt8Array
from ocr.imaging.measures import NOISE_LEVELS
from ocr.line_reader.found_lines import Box, Floats

# Marks that differ more from their paper are read as they are. With less, a page's darkest marks get this much.
_FAINT_LEVELS, _GOOD_LEVELS = 80, 200
# Pages have grain on which fewer of the pixels, in every eighth row, are of the same shade as the next.
_STEP, _EVEN_SHARE = 8, 0.6
# Between lines: the white around a line's box that goes with it, in its heights, and the percentile of its shades that
# is paper; the cells, and how many of them across, of which the median is the ground.
_AROUND, _PAPER_PERCENTILE = 0.3, 85
_CELL_PX, _GROUND_CELLS = 8, 9
# Darker marks than this are not faint. Marks are so many times as strong as the paper's grain, and have at least this
# share of the page: half a dozen lines. The percentile of them that is made as dark as good print.
_DARK_LEVELS, _GRAINS, _LEAST_SHARE, _STRONG_PERCENTILE = 110, 8, 0.006, 90
# A page of which no mark differs more than this from its paper has none that anybody could see.
_LEAST_LEVELS = 2


def darkened(grey: UInt8Array) -> UInt8Array:
    """Returns a page whose marks are all faint with its marks dark on white, and others as they are.

    grey: [H, W] uint8. Marks may be darker or lighter than the paper.
    """
    # The mean of nine pixels: a stroke survives it, grain does not.
    smooth = np.asarray(Image.fromarray(grey).filter(ImageFilter.BoxBlur(1))).astype(np.int16)
    paper = int(np.median(smooth[::4, ::4]))
    most = int(np.abs(smooth - paper).max())
    if not _LEAST_LEVELS < most <= _FAINT_LEVELS:
        return grey
    marks = np.abs(grey.astype(np.float32) - paper) * (_GOOD_LEVELS / most)
    dark: UInt8Array = (255 - np.clip(marks, 0, 255)).astype(np.uint8)
    return dark


def without_lines(grey: UInt8Array, boxes: Iterable[Box]) -> UInt8Array:
    """Returns the page with the lines in these boxes painted over in the shade of the paper around them."""
    page = grey.copy()
    for x0, y0, x1, y1 in boxes:
        around = min(x1 - x0, y1 - y0) * _AROUND
        place = (
            slice(max(0, int(y0 - around)), int(y1 + around) + 1),
            slice(max(0, int(x0 - around)), int(x1 + around) + 1),
        )
        if page[place].size:
            page[place] = np.percentile(page[place], _PAPER_PERCENTILE)
    return page


def darkness_between(grey: UInt8Array, boxes: Iterable[Box]) -> Floats | None:
    """Returns how dark the faint marks outside the lines are, and those lighter than their ground; None for hardly any.

    None for scans with grain too: looking between the lines of 21 old ones found nothing. grey: [H, W] uint8, in whose
    pixels the lines' boxes are. The result is [H, W], 0 to 1, for a reader to look at. Marks that are darker than faint
    ones were seen as they are.
    """
    if np.mean(grey[::_STEP, 1:] == grey[::_STEP, :-1]) < _EVEN_SHARE:
        return None
    page = without_lines(grey, boxes)
    small = Image.fromarray(page).reduce(_CELL_PX).filter(ImageFilter.MedianFilter(_GROUND_CELLS))
    ground = np.asarray(small.resize((page.shape[1], page.shape[0]), Image.Resampling.BILINEAR)).astype(
        np.int16
    )
    lighter = page - ground
    marks = np.where(lighter > 0, lighter, np.where(lighter > -_DARK_LEVELS, -lighter, 0))
    marks[marks <= max(NOISE_LEVELS, _GRAINS * np.median(marks[::4, ::4]))] = 0
    if np.count_nonzero(marks) < _LEAST_SHARE * marks.size:
        return None
    strong = np.percentile(marks[marks > 0], _STRONG_PERCENTILE)
    dark: Floats = np.clip(marks * (_GOOD_LEVELS / 255 / strong), 0, 1).astype(np.float32)
    return dark
