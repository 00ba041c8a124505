"""Whether a page carries any mark at all.

Conservative: a single small page number is a mark, and in doubt a page is not blank. Paper grain, uneven
light, JPEG noise, dust and the dark borders scanners leave are not marks.
"""

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

from encoders.views import UInt8Array

# Analysed at about 170 dpi of an A4 page, where an 8 pt digit is some 13 px high.
_ANALYSIS_PX = 2048
_MARGIN = 0.02
_MAX_BORDER = 0.15
_BORDER_CONTRAST = 40
_MIN_CONTRAST, _MAX_CONTRAST = 12.0, 64.0
_NOISE_SIGMAS = 6.0
_BUSY_SHARE = 0.004
_MARK_SIDE = 0.0066
_MARK_SHARE = 0.15


def is_blank(pixels: UInt8Array) -> bool:
    """Returns True for a page without marks. pixels: [H, W, 3] or [H, W] uint8."""
    grey = _reduced(Image.fromarray(pixels).convert("L"))
    if _is_busy(grey):
        return False
    grey = _without_borders(grey)
    side_px = max(grey.size)
    # A stroke survives a 3 x 3 mean, grain and single specks do not.
    smooth = np.asarray(grey.filter(ImageFilter.BoxBlur(1)), dtype=np.float32)
    paper = np.asarray(grey.filter(ImageFilter.BoxBlur(max(4, side_px // 60))), dtype=np.float32)
    contrast = np.abs(smooth - paper)
    sigma = 1.4826 * float(np.median(np.abs(contrast)))
    threshold = min(max(_MIN_CONTRAST, _NOISE_SIGMAS * sigma), _MAX_CONTRAST)
    return not _has_cluster(contrast > threshold, max(3, round(_MARK_SIDE * side_px)))


def _reduced(grey: Image.Image) -> Image.Image:
    factor = max(1, round(max(grey.size) / _ANALYSIS_PX))
    return grey.reduce(factor) if factor > 1 else grey


def _is_busy(grey: Image.Image) -> bool:
    """Whether there are so many sharp edges that no further look is needed, as on most pages."""
    rows = np.asarray(grey)[::4].astype(np.int16)
    num_edges = int(np.count_nonzero(np.abs(np.diff(rows, axis=1)) > _MAX_CONTRAST))
    return num_edges > _BUSY_SHARE * rows.size


def _without_borders(grey: Image.Image) -> Image.Image:
    """Returns the page less the dark borders and edge shadows of scanners."""
    values = np.asarray(grey)
    # A page most of whose pixels are alike never lay on a scanner, and may be printed to its edge.
    is_clean = float(np.mean(values == np.median(values))) > 0.5
    margin = 0 if is_clean else round(_MARGIN * max(grey.size))
    top, bottom = (max(margin, px) for px in _border_px(np.median(values, axis=1)))
    left, right = (max(margin, px) for px in _border_px(np.median(values, axis=0)))
    box = (left, top, grey.width - right, grey.height - bottom)
    return grey.crop(box) if box[0] < box[2] and box[1] < box[3] else grey


def _border_px(medians: npt.NDArray[np.floating]) -> tuple[int, int]:
    """Returns how many lines at either end are mostly much darker than the page is in general."""
    limit = int(len(medians) * _MAX_BORDER)
    dark = medians < np.median(medians) - _BORDER_CONTRAST
    ends = []
    for side in (dark[:limit], dark[::-1][:limit]):
        hits = np.flatnonzero(side)
        # Beyond the last dark line, its blurred edge.
        ends.append(int(hits[-1]) + 4 if len(hits) else 0)
    return ends[0], ends[1]


def _has_cluster(mask: npt.NDArray[np.bool_], window_px: int) -> bool:
    """Whether some window_px square holds enough marked pixels for the smallest mark that counts."""
    if not mask.any():
        return False
    sums = np.pad(
        np.cumsum(np.cumsum(mask, axis=0, dtype=np.int32), axis=1, dtype=np.int32), ((1, 0), (1, 0))
    )
    high, wide = min(window_px, mask.shape[0]), min(window_px, mask.shape[1])
    counts = sums[high:, wide:] - sums[:-high, wide:] - sums[high:, :-wide] + sums[:-high, :-wide]
    return bool(counts.max() >= _MARK_SHARE * window_px * window_px)
