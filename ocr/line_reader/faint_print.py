"""Makes the print of pages dark that have no strong contrast at all."""

import numpy as np
from PIL import Image, ImageFilter

from encoders.views import UInt8Array

# Marks that differ more from their paper are read as they are. With less, a page's darkest marks get this much.
_FAINT_LEVELS, _GOOD_LEVELS = 80, 200
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
