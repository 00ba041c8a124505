"""Makes faint print dark: on pages that have no strong contrast at all, and between the lines that were read."""

from collections.abc import Iterable, Sequence

import numpy as np
from PIL import Image, ImageFilter

from encoders.views import UInt8Array
from ocr.imaging.colour import ground_of, has_grain
from ocr.imaging.measures import NOISE_LEVELS
from ocr.imaging.quantiles import quantiles
from ocr.line_reader.found_lines import Box, Ints, Shades
from ocr.orientation.detect import shows_words

# Marks that differ more from their paper are read as they are. With less, a page's darkest marks get this much.
_FAINT_LEVELS, _GOOD_LEVELS, _STRIP_PX = 80, 200, 128
# Between lines: the white around a line's box that goes with it, in its heights.
_AROUND = 0.3
# Darker marks than this are not faint. Marks are so many times as strong as the paper's grain, and have at least this
# share of the page: a few words.
_DARK_LEVELS, _GRAINS, _LEAST_SHARE = 110, 8, 0.0005
_PRINT_SHARES = (0.02, 0.5, 0.98)  # of a line's shades: the darkest, its paper, the lightest
# Marks are as dark as good print where nothing stronger is so many cells of this size around them.
_CELL_PX, _CELLS = 16, 5
# A page of which no mark differs more than this from its paper has none that anybody could see.
_LEAST_LEVELS = 2


def darkened(grey: UInt8Array) -> UInt8Array:
    """Returns a page whose marks are all faint with its marks dark on white, and others as they are.

    grey: [H, W] uint8. Marks may be darker or lighter than the paper.
    """
    tops = sorted(range(0, len(grey) - 2, _STRIP_PX), key=lambda top: abs(top - len(grey) // 2))
    parts = (np.asarray(Image.fromarray(grey[top : top + _STRIP_PX]).reduce(3)) for top in tops)
    if any(int(np.ptp(part)) > 2 * _FAINT_LEVELS for part in parts):  # as on most pages, in the first
        return grey
    smooth = np.asarray(Image.fromarray(grey).reduce(3))  # strokes survive it
    paper = int(np.median(smooth[::2, ::2]))
    most = max(int(smooth.max()) - paper, paper - int(smooth.min()))
    if not _LEAST_LEVELS < most <= _FAINT_LEVELS:
        return grey
    marks = np.abs(grey.astype(np.float32) - paper) * (_GOOD_LEVELS / most)
    return (255 - np.clip(marks, 0, 255)).astype(np.uint8)


def without_lines(grey: UInt8Array, boxes: Iterable[Box], share: float = 0.85) -> UInt8Array:
    """Returns the page with the lines in these boxes painted over in a shade around them, by default the paper's."""
    page = grey.copy()
    for x0, y0, x1, y1 in boxes:
        around = min(x1 - x0, y1 - y0) * _AROUND
        top, left = max(0, int(y0 - around)), max(0, int(x0 - around))
        part = page[top : int(y1 + around) + 1, left : int(x1 + around) + 1]
        if part.size:
            lightest = part.max()
            is_clean = np.count_nonzero(part < lightest) <= int(share * (part.size - 1))
            part[:] = lightest if is_clean else quantiles(part, [share])[0]
    return page


def are_faint(grey: UInt8Array, boxes: Iterable[Box]) -> list[bool]:
    """Returns whether the print in each line's box is faint or light; none is on scans with grain."""
    parts = [
        grey[max(0, int(y0)) : int(y1) + 1 : 2, max(0, int(x0)) : int(x1) + 1 : 2] for x0, y0, x1, y1 in boxes
    ]
    if has_grain(grey):
        return [False] * len(parts)
    shades = (quantiles(part, _PRINT_SHARES) if part.size else (0.0, 255.0, 255.0) for part in parts)
    return [high - low <= _DARK_LEVELS or paper - low < high - paper for low, paper, high in shades]


def darkness_between(
    grey: UInt8Array, boxes: Sequence[Box], colour: UInt8Array | None = None
) -> Shades | None:
    """Returns how dark the faint marks outside the lines are, and those lighter than their ground; None for no print.

    None for scans with grain too: looking between the lines of 21 old ones found nothing. grey: [H, W] uint8, in whose
    pixels the lines' boxes are. colour: how far its pixels are from their ground in colour. The result is [H, W], for
    a reader to look at. Marks that are darker than faint ones were seen as they are.
    """
    if has_grain(grey):
        return None
    page = without_lines(grey, boxes)
    ground = ground_of(Image.fromarray(page))
    low, high = max(0, int(ground.max()) - NOISE_LEVELS), min(255, int(ground.min()) + NOISE_LEVELS)
    if colour is None and np.count_nonzero(page - np.uint8(low) > high - low) < _LEAST_SHARE * page.size:
        return None  # as on most pages: hardly a pixel is darker or lighter than the ground is anywhere
    marks = np.maximum(page, ground) - np.minimum(page, ground)
    may_be_faint = (marks < _DARK_LEVELS) | (page > ground)
    if colour is not None:
        marks = np.maximum(marks, without_lines(colour, boxes, share=0.0))
    marks *= may_be_faint
    places = np.flatnonzero(marks > int(max(NOISE_LEVELS, _GRAINS * np.median(marks[::4, ::4]))))
    if len(places) < _LEAST_SHARE * marks.size:
        return None
    found = marks.ravel()[places]
    dark: Shades = np.zeros(marks.shape, np.uint8)
    dark.ravel()[places] = found / _strongest_near(found, places, marks.shape) * np.float32(_GOOD_LEVELS)
    return dark if shows_words(~dark) else None


def _strongest_near(marks: UInt8Array, places: Ints, shape: tuple[int, ...]) -> UInt8Array:
    """Returns the strongest of the marks around each of a page's marks. places: of these, of all its pixels."""
    cell = tuple(axis // _CELL_PX for axis in np.unravel_index(places, shape))
    cells = np.zeros([side // _CELL_PX + 1 for side in shape], np.uint8)
    np.maximum.at(cells, cell, marks)
    near: UInt8Array = np.asarray(Image.fromarray(cells).filter(ImageFilter.MaxFilter(_CELLS)))
    return near[cell]
