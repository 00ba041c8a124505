"""The parts of a page as pictures, each on blank paper of its own."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from PIL import Image

from encoders.views import UInt8Array
from ocr.parts.skew import MAX_DEG
from ocr.parts.types import PartPlan


def lay_out(pixels: UInt8Array, plan: PartPlan) -> Iterator[UInt8Array]:
    """Yields each part as [h, w, 3] uint8 RGB, of its frame's size. pixels: [H, W, 3], those of the page.

    A part that is shown at less than half of the page's resolution, as large type is, comes reduced by a whole number.
    """
    upright = _turned(pixels, plan.angle_deg) if plan.angle_deg else pixels
    dx, dy = (upright.shape[1] - pixels.shape[1]) // 2, (upright.shape[0] - pixels.shape[0]) // 2
    for part in plan.parts:
        factor = max(1, int(1 / part.scale))
        # On the turned page, which is larger where it was turned far.
        box, frame = (
            tuple((value + by) // factor for value, by in zip(edges, (dx, dy, dx, dy), strict=True))
            for edges in (part.box_px, part.frame_px)
        )
        x0, y0, x1, y1 = (max(0, edge) for edge in box)
        left, top, right, bottom = frame
        whole = np.asarray(Image.fromarray(upright).reduce(factor)) if factor > 1 else upright
        shown = whole[y0:y1, x0:x1]
        sheet = np.empty((bottom - top, right - left, 3), dtype=np.uint8)
        sheet[:] = _paper(shown)
        height, width = min(shown.shape[0], bottom - y0), min(shown.shape[1], right - x0)
        sheet[y0 - top : y0 - top + height, x0 - left : x0 - left + width] = shown[:height, :width]
        yield sheet


def _turned(pixels: UInt8Array, angle_deg: float) -> UInt8Array:
    paper = tuple(int(value) for value in _paper(pixels))
    picture = Image.fromarray(pixels)
    return np.asarray(
        picture.rotate(angle_deg, Image.Resampling.BICUBIC, expand=abs(angle_deg) > MAX_DEG, fillcolor=paper)
    )


def _paper(pixels: UInt8Array) -> npt.NDArray[np.float64]:
    """The commonest colour, by channel."""
    median: npt.NDArray[np.float64] = np.median(pixels[::4, ::4].reshape(-1, 3), axis=0)
    return median
