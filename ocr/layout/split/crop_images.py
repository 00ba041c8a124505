"""Makes the pictures of a page's crops, each on blank paper of its own."""

from collections.abc import Iterator

import numpy as np
from PIL import Image

from encoders.views import UInt8Array
from ocr.imaging.planes import of_planes, planes_of
from ocr.layout.crops import CropPlan
from ocr.layout.skew import MAX_DEG


def lay_out(pixels: UInt8Array, plan: CropPlan) -> Iterator[UInt8Array]:
    """Yields each crop as [h, w, 3] uint8 RGB, of its frame's size, in the memory layout of ocr.imaging.planes.

    pixels: [H, W, 3], the page. A crop that is shown at less than half of the page's resolution, as large type is,
    comes reduced by a whole number.
    """
    page = planes_of(pixels)
    upright = _turned(page, plan.angle_deg) if plan.angle_deg else page
    dx, dy = (upright.shape[2] - page.shape[2]) // 2, (upright.shape[1] - page.shape[1]) // 2
    for crop in plan.crops:
        factor = max(1, int(1 / crop.scale))
        # On the turned page, which is larger where it was turned far.
        box, frame = (
            tuple((value + by) // factor for value, by in zip(edges, (dx, dy, dx, dy), strict=True))
            for edges in (crop.box_px, crop.frame_px)
        )
        x0, y0, x1, y1 = (max(0, edge) for edge in box)
        left, top, right, bottom = frame
        whole = _reduced(upright, factor) if factor > 1 else upright
        shown = whole[:, y0:y1, x0:x1]
        sheet = np.empty((len(page), bottom - top, right - left), dtype=np.uint8)
        sheet[:] = _paper(shown)[:, None, None]
        height, width = min(shown.shape[1], bottom - y0), min(shown.shape[2], right - x0)
        sheet[:, y0 - top : y0 - top + height, x0 - left : x0 - left + width] = shown[:, :height, :width]
        yield of_planes(sheet)


def _turned(page: UInt8Array, angle_deg: float) -> UInt8Array:
    expand = abs(angle_deg) > MAX_DEG
    return np.stack([
        np.asarray(
            Image.fromarray(plane).rotate(
                angle_deg, Image.Resampling.BICUBIC, expand=expand, fillcolor=int(paper)
            )
        )
        for plane, paper in zip(page, _paper(page), strict=True)
    ])  # fmt: skip


def _reduced(page: UInt8Array, factor: int) -> UInt8Array:
    return np.stack([np.asarray(Image.fromarray(plane).reduce(factor)) for plane in page])


def _paper(page: UInt8Array) -> UInt8Array:
    """Returns the median shade of each channel, which is the paper's."""
    shades: UInt8Array = np.median(page[:, ::4, ::4].reshape(len(page), -1), axis=1).astype(np.uint8)
    return shades
