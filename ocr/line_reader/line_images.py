"""Cuts lines out of a page, level and at one type size, as the network that reads them was trained on."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from ocr.imaging.profiles import stretches
from ocr.imaging.quantiles import quantiles
from ocr.line_reader.found_lines import Floats, Shades, TextLine

HEIGHT_PX = 40
MAX_WIDTH_PX = 2048
# Above and below the baseline, in type sizes: with accents and descenders, and some of the lines around.
ABOVE, BELOW = 0.98, 0.32
_BESIDE = 0.25  # the same, of the paper at a line's ends
_SMOOTH = 3.0  # over this many type sizes a baseline is evened out
MAX_HALVINGS, WORTH_HALVING = 2, 1.1
_STEPS = 8  # rows are found to one part in so many of a pixel
# A line that is too long is cut in the whitest stretch of this width among the last pixels, between two letters.
_GAP_PX, _SEARCHED_PX, _LETTER_GAP_PX = 24, 500, 3
# Quantiles of a line's pixels: its lightest, its paper, the middle, its paper if that is dark, its darkest.
QUANTILES = (0.015, 0.25, 0.5, 0.75, 0.985)
LEAST_CONTRAST, RANGE, _BOX = 0.06, (-0.3, 1.3), 0.5
# A shadow makes the paper so much darker, and no mark on it by that share of the ink's darkness lighter.
_SHADOW, _NEAR = 0.2, range(-4, 5)


def line_image(darkness: Shades, line: TextLine) -> Floats:
    """Returns a line as [HEIGHT_PX, W] float32 darkness, resampled along its baseline, without edges of shadows.

    darkness: the page's, [H, W]; the result's is from 0, white, to 1. Letters larger than there are averaged first.
    """
    left, step = page_scale(line)
    width = math.ceil((line.right - line.left + 2 * _BESIDE * line.size) / step)
    x = left + step * (np.arange(width) + 0.5)
    y = _smoothed(line).take((x - line.left).astype(np.intp), mode="clip")
    rows = step * (np.arange(HEIGHT_PX) + 0.5) - ABOVE * line.size
    factor = 1 << min(MAX_HALVINGS, max(0, math.floor(math.log2(max(1.0, step) / WORTH_HALVING))))
    x0, y0, window = _window(darkness, (x[0], x[-1]), (y.min() + rows[0], y.max() + rows[-1]), factor)
    return _evened(_sampled(window, (x - x0) / factor, (y - y0) / factor, rows / factor))


def _sampled(window: Shades, x: npt.NDArray[Any], y: npt.NDArray[Any], rows: npt.NDArray[Any]) -> Floats:
    """Returns what is at columns x [W], in rows [H] around y [W], bilinear; beyond the edge it is as at the edge."""
    level = np.ascontiguousarray(_between(np.ascontiguousarray(window.T), x).T)  # rows are faster to pick
    places = rows[:, None] + np.rint(y * _STEPS) / _STEPS
    return _between(level.reshape(-1, 1), places, len(x))[..., 0] * np.float32(1 / 255)


def _between(pixels: Shades | Floats, places: npt.NDArray[Any], wide: int = 1) -> Floats:
    """Returns what is at places along the first axis of pixels [N, M]; of rows of so many, each place in its column."""
    at = (places - 0.5).clip(0, len(pixels) // wide - 1)
    first = at.astype(np.intp)
    share, first = (at - first).astype(np.float32)[..., None], first * wide + np.arange(wide)
    before, after = (pixels.take(first + n, 0, mode="clip").astype(np.float32, copy=False) for n in (0, wide))
    after -= before
    after *= share
    after += before
    return after


def _evened(image: Floats) -> Floats:
    """Returns a line image without the edge of a shadow: where no mark is lighter than the ground, that is made 0."""
    ground = image[[0, 1, -2, -1]].min(0)
    if np.ptp(ground) < _SHADOW:
        return image
    ground = np.min([ground.take(np.arange(len(ground)) + by, mode="clip") for by in _NEAR], axis=0)
    light, dark = quantiles((image - ground)[::2, ::2], QUANTILES[:: len(QUANTILES) - 1])
    return (image - ground) / np.maximum(1 - ground, _SHADOW) if -light < _SHADOW * dark else image


def page_scale(line: TextLine) -> tuple[float, float]:
    """Returns where the line's image begins on the page, x, and how many of its pixels one of the image's is."""
    return line.left - _BESIDE * line.size, line.size * (ABOVE + BELOW) / HEIGHT_PX


def _smoothed(line: TextLine) -> Floats:
    """Returns the line's baseline without its small jumps."""
    reach = min(int(_SMOOTH * line.size) | 1, 2 * (len(line.baseline) // 2) - 1)
    if reach < 3:
        return np.full_like(line.baseline, line.middle)
    around = np.arange(-(reach // 2), len(line.baseline) + reach // 2)
    padded = line.baseline.take(around, mode="clip")  # np.pad takes ten times as long
    sums = np.cumsum(np.append(0, padded), dtype=np.float64)
    return ((sums[reach:] - sums[:-reach]) / reach).astype(np.float32)


def _window(darkness: Shades, x: Any, y: Any, factor: int) -> tuple[int, int, Shades]:
    """Returns the part of the page from x[0] to x[1], and of y, reduced by a factor, and where it begins (x, y)."""
    (x0, x1), (y0, y1) = ((math.floor(a) - 2 * factor, math.ceil(b) + 2 * factor) for a, b in (x, y))
    y0, x0 = (min(max(0, its), side - 1) for its, side in zip((y0, x0), darkness.shape, strict=True))
    window = darkness[y0 : max(y0 + 1, y1), x0 : max(x0 + 1, x1)]
    return x0, y0, np.asarray(Image.fromarray(window).reduce(factor)) if factor > 1 else window


def pieces(image: Floats) -> Iterator[Floats]:
    """Yields a line image in parts of at most MAX_WIDTH_PX, cut in white where there is some."""
    while image.shape[1] > MAX_WIDTH_PX:
        ink = image[:, MAX_WIDTH_PX - _SEARCHED_PX : MAX_WIDTH_PX].sum(0)
        whitest = int(np.convolve(ink, np.ones(_GAP_PX), "valid").argmin())
        between = np.convolve(ink, np.ones(_LETTER_GAP_PX), "same")[whitest : whitest + _GAP_PX]
        end = MAX_WIDTH_PX - _SEARCHED_PX + whitest + int(between.argmin())
        yield image[:, :end]
        image = image[:, end:]
    yield image


def normalised(image: Floats | Shades) -> Floats:
    """Returns a line image with its paper at 0 and its ink at about 1; light print on dark is inverted, boxes too."""
    image = image * np.float32(1 / 255) if image.dtype == np.uint8 else image
    lightest, paper, middle, dark_paper, darkest = quantiles(image[::2, ::2], QUANTILES)
    ground, ink = (dark_paper, lightest) if middle - lightest > darkest - middle else (paper, darkest)
    contrast = math.copysign(max(abs(ink - ground), LEAST_CONTRAST), ink - ground)
    clipped: Floats = image - np.float32(ground)
    clipped *= np.float32(1 / contrast)
    np.clip(clipped, *RANGE, out=clipped)
    for start, end in stretches(clipped[[0, 1, -2, -1]].min(0) > _BOX):
        own, is_within = clipped[:, start:end], start > 0 and end < clipped.shape[1]
        is_box = is_within or own[:, -(not start)].min() > _BOX  # else a round one begins there
        if is_box and end - start > HEIGHT_PX / 2 and np.median(own) > _BOX:
            own[:] = 1 - own
    is_ink = clipped > _BOX / 2
    for side, its in ((clipped, is_ink), (clipped[:, ::-1], is_ink[:, ::-1])):
        if its[:, 0].all():  # what is around a box, its corners too, is none of its letters
            side[np.logical_and.accumulate(its, axis=1)] = 0
    return clipped
