"""Converts a page in points to the pixels of a canvas, straight or as a scanner sees it."""

import random

import numpy as np
import numpy.typing as npt
import pymupdf

from ocr.training.pages.page_truth import Sheet

Size = tuple[int, int]


def camera(rng: random.Random, width_pt: float, height_pt: float, inner: Size) -> pymupdf.Matrix:
    """Returns the transform of points to canvas pixels, for half of the pages slightly turned, zoomed and shifted."""
    fit = pymupdf.Matrix(inner[0] / width_pt, inner[1] / height_pt)
    if rng.random() < 0.5:
        return fit
    angle = rng.gauss(0, 0.7)
    zoom = rng.uniform(0.94, 1.02)
    centre = pymupdf.Matrix(1, 0, 0, 1, -width_pt / 2, -height_pt / 2)
    moved = pymupdf.Matrix(
        1,
        0,
        0,
        1,
        width_pt * (0.5 + rng.uniform(-0.015, 0.015)),
        height_pt * (0.5 + rng.uniform(-0.015, 0.015)),
    )
    turned = (
        centre
        * pymupdf.Matrix(max(-2.0, min(2.0, angle)))
        * pymupdf.Matrix(zoom, zoom * rng.uniform(0.97, 1.03))
    )
    return turned * moved * fit


def paint(pixels: npt.NDArray[np.uint8], sheet: Sheet, matrix: pymupdf.Matrix, frame: pymupdf.IRect) -> None:
    """Draws what a frame shows of a page on its white paper. pixels: [H, W] grey, changed; frame: lies in them."""
    drawn = sheet.display.get_pixmap(matrix=matrix, colorspace=pymupdf.csGRAY, alpha=0, clip=frame * ~matrix)
    pixels[frame.y0 : frame.y1, frame.x0 : frame.x1] = 255
    found = np.frombuffer(drawn.samples_mv, np.uint8).reshape(drawn.height, drawn.stride)[:, : drawn.width]
    top, left = max(0, drawn.y), max(0, drawn.x)
    found = found[top - drawn.y : pixels.shape[0] - drawn.y, left - drawn.x : pixels.shape[1] - drawn.x]
    pixels[top : top + found.shape[0], left : left + found.shape[1]] = found
