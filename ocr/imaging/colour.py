"""Finds print that stands out by its colour alone: green on red of the same brightness has no contrast in grey."""

import numpy as np
from PIL import Image, ImageFilter

from encoders.views import UInt8Array
from ocr.imaging.measures import PRINT_LEVELS
from ocr.imaging.planes import picture_of, planes_of

# The ground is the median of so many cells across: a line of large print is narrower than half of them.
_CELL_PX, _CELLS = 16, 5
# Print that can be seen differs so much in one of its primary colours; in grey by less than this share of it, it may be
# lost. Of the page, so much is a few words.
_SEEN_LEVELS, _LOST, _LEAST_SHARE = 2 * PRINT_LEVELS, 0.25, 0.0005
_ANALYSIS_PX = 1200
# Pages have grain on which fewer of the pixels, in every eighth row, are of the same shade as the next.
_STEP, _EVEN_SHARE = 8, 0.6


def ground_of(band: Image.Image) -> UInt8Array:
    """Returns the shade of the ground around each pixel, [H, W]. band: mode L."""
    cells = band.reduce(min(_CELL_PX, *band.size)).filter(ImageFilter.MedianFilter(_CELLS))
    if len(set(cells.getextrema())) == 1:  # which resizing leaves as it is
        return np.full(band.size[::-1], np.asarray(cells)[0, 0])  # faster to compare with than a number
    return np.asarray(cells.resize(band.size, Image.Resampling.BILINEAR))


def colour_contrast(pixels: UInt8Array) -> UInt8Array | None:
    """Returns how far each pixel is from its ground in the primary colour in which it is farthest, [H, W] uint8.

    None where print stands out as much in grey, as on most pages, and on scans with grain. pixels: [H, W, 3] uint8.
    """
    planes = planes_of(pixels)
    if len(planes) == 1 or has_grain(planes[1]):
        return None
    height, width = planes[0].shape
    small = picture_of(pixels, min(max(2, round(max(height, width) / _ANALYSIS_PX)), height, width))
    far = _contrast(small)
    is_lost = (far >= _SEEN_LEVELS) & (_contrast(small.convert("L")) < _LOST * far)
    return _contrast(picture_of(pixels)) if np.count_nonzero(is_lost) > _LEAST_SHARE * is_lost.size else None


def has_grain(grey: UInt8Array) -> bool:
    """Returns whether hardly any pixel is like the next, as on scans. grey: [H, W] uint8."""
    are_even = grey[::_STEP, 1:] == grey[::_STEP, :-1]
    return bool(np.count_nonzero(are_even) < _EVEN_SHARE * are_even.size)


def _contrast(picture: Image.Image) -> UInt8Array:
    contrast: UInt8Array = np.zeros((picture.height, picture.width), np.uint8)
    for band in picture.split():
        values, ground = np.asarray(band), ground_of(band)
        np.maximum(contrast, np.maximum(values, ground) - np.minimum(values, ground), out=contrast)
    return contrast
