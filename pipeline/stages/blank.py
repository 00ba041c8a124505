"""Whether a page carries any mark at all.

Conservative: a single small page number is a mark, and in doubt a page is not blank. Paper grain, uneven
light, JPEG noise, dust and the dark borders scanners leave are not marks.
"""

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

from encoders.views import UInt8Array
from ocr.planes import picture_of

Mask = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

# Analysed at about 170 dpi of an A4 page, where an 8 pt digit is some 13 px high.
_ANALYSIS_PX = 2048
_MARGIN = 0.02
_MAX_BORDER = 0.15
_BORDER_CONTRAST = 40
# Borders are looked for in cells of so many pixels, in which dust on a scanner's lid is lost and light print is not.
_CELL_PX = 4
# How much paper may show between a border and the picture's edge; how far a border's edge is blurred; and over what
# radius the shade beside it is taken.
_GAP_PX, _BLUR_PX, _BESIDE_PX = 8, 4, 4
_MIN_CONTRAST, _MAX_CONTRAST = 12.0, 64.0
_NOISE_SIGMAS = 6.0
_BUSY_SHARE = 0.004
_MARK_SIDE = 0.0066
_MARK_SHARE = 0.15


def is_blank(pixels: UInt8Array) -> bool:
    """Returns True for a page without marks. pixels: [H, W, 3] or [H, W] uint8."""
    grey = _reduced(picture_of(pixels).convert("L"))
    if _is_busy(grey):
        return False
    grey = _without_borders(grey)
    side_px = max(grey.size)
    # A stroke survives a 3 x 3 mean, grain and single specks do not.
    smooth = np.asarray(grey.filter(ImageFilter.BoxBlur(1)), dtype=np.float32)
    paper = np.asarray(grey.filter(ImageFilter.BoxBlur(max(4, side_px // 60))), dtype=np.float32)
    contrast = np.abs(smooth - paper)
    sigma = 1.4826 * float(np.median(contrast))
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
    """Returns the page with the dark borders and edge shadows of scanners painted over in the shade beside them.

    A border is what is much darker than the page without a break from the picture's edge on, straight inwards: a rule
    below a header is none, and neither is light print on a dark bar.
    """
    values = np.array(grey)
    usual = np.median(values)
    # A page most of whose pixels are alike never lay on a scanner, and may be printed to its edge.
    is_clean = float(np.mean(values == usual)) > 0.5
    margin = 0 if is_clean else round(_MARGIN * max(grey.size))
    dark = _in_cells(grey) < usual - _BORDER_CONTRAST
    # The sides first: what they leave in the corners the others paint over.
    for sides in ((1, 3), (0, 2)):
        depths_px = {turns: _border_px(np.rot90(dark, turns)) for turns in sides}
        if margin or any(depth_px.any() for depth_px in depths_px.values()):
            shades = np.asarray(Image.fromarray(values).filter(ImageFilter.BoxBlur(_BESIDE_PX)))
            for turns, depth_px in depths_px.items():
                # Turned views: what is painted on them is painted on the page.
                _paint(np.rot90(values, turns), np.rot90(shades, turns), np.maximum(depth_px, margin))
    return Image.fromarray(values)


def _in_cells(grey: Image.Image) -> UInt8Array:
    """Each pixel as the mean of its cell."""
    means = np.asarray(grey.reduce(_CELL_PX))
    return means.repeat(_CELL_PX, axis=0).repeat(_CELL_PX, axis=1)[: grey.height, : grey.width]


def _border_px(dark: Mask) -> Ints:
    """Returns for each column how many pixels from the top on are a border's, its blurred edge included."""
    near = dark[: int(dark.shape[0] * _MAX_BORDER)].copy()
    # Between a border and the picture's edge a little paper may show.
    near[:_GAP_PX] |= near[:_GAP_PX].any(axis=0)
    depths: Ints = np.logical_and.accumulate(near, axis=0).sum(axis=0)
    return np.where(depths > 0, depths + _BLUR_PX, 0)


def _paint(values: UInt8Array, shades: UInt8Array, depths_px: Ints) -> None:
    """Paints the top of each column in the shade that the page has below it. values: is painted on."""
    depths_px = np.minimum(depths_px, len(values) - 1)
    beside = shades[np.minimum(depths_px + _BESIDE_PX, len(values) - 1), np.arange(values.shape[1])]
    top = values[: int(depths_px.max())]
    np.copyto(top, beside[None, :], where=np.arange(len(top))[:, None] < depths_px[None, :])


def _has_cluster(mask: Mask, window_px: int) -> bool:
    """Whether some window_px square holds enough marked pixels for the smallest mark that counts."""
    if not mask.any():
        return False
    sums = np.pad(
        np.cumsum(np.cumsum(mask, axis=0, dtype=np.int32), axis=1, dtype=np.int32), ((1, 0), (1, 0))
    )
    high, wide = min(window_px, mask.shape[0]), min(window_px, mask.shape[1])
    counts = sums[high:, wide:] - sums[:-high, wide:] - sums[high:, :-wide] + sums[:-high, :-wide]
    return bool(counts.max() >= _MARK_SHARE * window_px * window_px)
