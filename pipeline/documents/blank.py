"""Detects blank pages: those that carry no mark at all.

Conservative: a single small page number is a mark, and in doubt a page is not blank. Paper grain, uneven light, JPEG
noise, dust and the dark borders that scanners leave are not marks.
"""

import math

import numpy as np
from PIL import Image, ImageFilter

from encoders.views import UInt8Array
from ocr.imaging.measures import DARK_LEVELS, NOISE_LEVELS
from ocr.imaging.planes import picture_of, planes_of
from ocr.imaging.profiles import Ints, Mask, counts_in_windows

# A4 pages are analysed at about 170 dpi, where an 8 pt digit is some 13 px high.
_ANALYSIS_PX = 2048
# Shares of the longer side: the margin of scans in which edge shadows are no marks; of a side: the deepest border.
_MARGIN = 0.02
_MAX_BORDER = 0.15
# Borders are searched in cells of this many pixels, which average out dust on a scanner's lid but not light print.
_CELL_PX = 4
# The width of paper that may show between a border and the image's edge, the width of a border's blurred edge, and the
# radius over which the shade next to it is measured.
_GAP_PX, _BLUR_PX, _BESIDE_PX = 8, 4, 4
# The contrast of a mark: so many times the deviation of the paper's shades, which is so many times their median
# difference; at least NOISE_LEVELS, and never more than this.
_NOISE_SIGMAS, _SIGMA, _MAX_CONTRAST = 6.0, 1.4826, 64.0
# The share of pixels of the very same shade from which on a page was never paper: there so much is a mark.
_CLEAN_SHARE, _CLEAN_LEVELS = 0.8, 3
# The share of every fourth row's pixels that are sharp edges on a page that cannot be blank.
_BUSY_SHARE, _EDGE_STEP = 0.004, 4
# The window in which a mark is searched for, a digit of 8 pt, and the one over which the paper's shade is averaged, as
# shares of the longer side and in pixels. The share of the former's pixels that the smallest mark has.
_MARK_SIDE, _MIN_WINDOW_PX = 0.0066, 3
_PAPER_SIDES, _MIN_RADIUS_PX = 60, 4
_MARK_SHARE = 0.15


def is_blank(pixels: UInt8Array) -> bool:
    """Returns True for a page without marks. pixels: [H, W, 3] or [H, W] uint8."""
    factor, planes = max(1, round(max(pixels.shape[:2]) / _ANALYSIS_PX)), planes_of(pixels)
    # Print may stand out by its colour alone.
    if not all(_is_blank(Image.fromarray(plane).reduce(factor)) for plane in (*planes[1:], planes[0])):
        return False
    return len(planes) == 1 or _is_blank(picture_of(pixels, factor).convert("L"))


def _is_blank(grey: Image.Image) -> bool:
    edges = _sharp_edges(np.asarray(grey)[::_EDGE_STEP])
    if np.count_nonzero(edges) > _BUSY_SHARE * len(edges) * (edges.shape[1] + 1):  # as on most pages
        return False
    side_px = max(grey.size)
    window_px, radius_px = (
        max(_MIN_WINDOW_PX, round(_MARK_SIDE * side_px)),
        max(_MIN_RADIUS_PX, side_px // _PAPER_SIDES),
    )
    if _has_clear_mark(grey, edges, window_px, radius_px):
        return False
    contrast = _contrast(_without_borders(grey), radius_px)
    sigma = _SIGMA * float(np.median(contrast))
    values = np.asarray(grey)
    is_clean = np.count_nonzero(values == np.median(values)) > _CLEAN_SHARE * values.size
    threshold = min(max(_CLEAN_LEVELS if is_clean else NOISE_LEVELS, _NOISE_SIGMAS * sigma), _MAX_CONTRAST)
    return not _has_cluster(contrast > math.floor(threshold), window_px)


def _contrast(grey: Image.Image, radius_px: int) -> UInt8Array:
    """Returns how much each pixel differs from the paper around it."""
    # A stroke survives a 3 x 3 mean; grain and single specks do not.
    smooth = np.asarray(grey.filter(ImageFilter.BoxBlur(1)))
    paper = np.asarray(grey.filter(ImageFilter.BoxBlur(radius_px)))
    contrast: UInt8Array = np.maximum(smooth, paper) - np.minimum(smooth, paper)
    return contrast


def _has_clear_mark(grey: Image.Image, edges: Mask, window_px: int, radius_px: int) -> bool:
    """Returns whether there is a mark of the highest contrast that may be required, where the most sharp edges are.

    It looks only where no scanner's border can be, which on most pages saves blurring the whole page.
    edges: from _sharp_edges.
    """
    width, height = grey.size
    margin = round(_MARGIN * max(width, height))
    left, top = (
        max(margin, math.ceil(_MAX_BORDER * side_px)) + _BLUR_PX + _BESIDE_PX for side_px in grey.size
    )
    inner = edges[-(-top // _EDGE_STEP) : (height - top) // _EDGE_STEP, left : width - left]
    if not inner.any():
        return False
    middle = top + _EDGE_STEP * int(np.count_nonzero(inner, axis=1).argmax())
    reach = radius_px + 2 * window_px
    box = (left, max(top, middle - reach), width - left, min(height - top, middle + reach))
    contrast = _contrast(grey.crop(box), radius_px)
    # Pixels near the edge of the cut-out are blurred without their neighbours beyond it.
    whole = contrast[radius_px + 1 : -radius_px - 1, radius_px + 1 : -radius_px - 1]
    return _has_cluster(whole > _MAX_CONTRAST, window_px)


def _sharp_edges(rows: UInt8Array) -> Mask:
    """Returns where a pixel differs clearly from the next one in its row: [H, W - 1]. rows: every fourth of a page."""
    here, after = rows[:, :-1], rows[:, 1:]
    edges: Mask = np.maximum(here, after) - np.minimum(here, after) > _MAX_CONTRAST
    return edges


def _without_borders(grey: Image.Image) -> Image.Image:
    """Returns the page with scanners' dark borders and edge shadows painted over in the shade next to them.

    A border is much darker than the page, without a break from the image's edge straight inwards: a rule below a header
    is not one, nor is light print on a dark bar.
    """
    values = np.array(grey)
    usual = np.median(values)
    # A page with most pixels of the same value was never scanned, and may be printed up to its edge.
    is_clean = float(np.mean(values == usual)) > 0.5
    margin = 0 if is_clean else round(_MARGIN * max(grey.size))
    means = np.asarray(grey.reduce(_CELL_PX))
    in_cells = means.repeat(_CELL_PX, axis=0).repeat(_CELL_PX, axis=1)[: grey.height, : grey.width]
    dark = in_cells < usual - DARK_LEVELS
    # The sides first: top and bottom then paint over what is left in the corners.
    for sides in ((1, 3), (0, 2)):
        depths_px = {turns: _border_px(np.rot90(dark, turns)) for turns in sides}
        if margin or any(depth_px.any() for depth_px in depths_px.values()):
            shades = np.asarray(Image.fromarray(values).filter(ImageFilter.BoxBlur(_BESIDE_PX)))
            for turns, depth_px in depths_px.items():
                # Rotated views of the same memory: painting on them paints on the page.
                _paint(np.rot90(values, turns), np.rot90(shades, turns), np.maximum(depth_px, margin))
    return Image.fromarray(values)


def _border_px(dark: Mask) -> Ints:
    """Returns for each column how many pixels from the top belong to a border, its blurred edge included."""
    near = dark[: int(dark.shape[0] * _MAX_BORDER)].copy()
    # A little paper may show between a border and the image's edge.
    near[:_GAP_PX] |= near[:_GAP_PX].any(axis=0)
    depths: Ints = np.logical_and.accumulate(near, axis=0).sum(axis=0)
    return np.where(depths > 0, depths + _BLUR_PX, 0)


def _paint(values: UInt8Array, shades: UInt8Array, depths_px: Ints) -> None:
    """Paints the top of each column of `values`, in place, in the shade of the page below it."""
    depths_px = np.minimum(depths_px, len(values) - 1)
    beside = shades[np.minimum(depths_px + _BESIDE_PX, len(values) - 1), np.arange(values.shape[1])]
    top = values[: int(depths_px.max())]
    np.copyto(top, beside[None, :], where=np.arange(len(top))[:, None] < depths_px[None, :])


def _has_cluster(mask: Mask, window_px: int) -> bool:
    """Returns whether some square of window_px holds enough marked pixels for the smallest mark that counts."""
    if not mask.any():
        return False
    counts = counts_in_windows(mask, *(min(window_px, side_px) for side_px in mask.shape))
    return bool(counts.max() >= _MARK_SHARE * window_px * window_px)
