"""The parts of a page as pictures, each on blank paper of its own."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from PIL import Image

from encoders.views import UInt8Array
from ocr.parts.types import PartPlan


def lay_out(pixels: UInt8Array, plan: PartPlan) -> Iterator[UInt8Array]:
    """Yields each part as [h, w, 3] uint8 RGB, of its frame's size. pixels: [H, W, 3], those of the page."""
    upright = _turned(pixels, plan.angle_deg) if plan.angle_deg else pixels
    for part in plan.parts:
        x0, y0, x1, y1 = part.box_px
        left, top, right, bottom = part.frame_px
        shown = upright[y0:y1, x0:x1]
        sheet = np.empty((bottom - top, right - left, 3), dtype=np.uint8)
        sheet[:] = _paper(shown)
        height, width = min(y1, bottom) - y0, min(x1, right) - x0
        sheet[y0 - top : y0 - top + height, x0 - left : x0 - left + width] = shown[:height, :width]
        yield sheet


def _turned(pixels: UInt8Array, angle_deg: float) -> UInt8Array:
    paper = tuple(int(value) for value in _paper(pixels))
    picture = Image.fromarray(pixels)
    return np.asarray(picture.rotate(angle_deg, Image.Resampling.BICUBIC, fillcolor=paper))


def _paper(pixels: UInt8Array) -> npt.NDArray[np.float64]:
    """The commonest colour, by channel."""
    median: npt.NDArray[np.float64] = np.median(pixels[::4, ::4].reshape(-1, 3), axis=0)
    return median
