"""Compares a page's pixels with its text layer: finds text without ink, and ink that looks like text without text.

At one pixel per point, letters are illegible, but a line of them is still a row of vertical edges. Torch-free.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pymupdf
from PIL import Image

from ocr.imaging.measures import PRINT_LEVELS
from ocr.imaging.profiles import counts_in_windows
from pipeline.text_layer.extract.spans import Box, holds

GreyImage = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

_LONGEST_PX = 1600  # posters are drawn more coarsely
# Text of 6 to 14 pt has 0.25 to 0.5 edges a pixel; rules, frames and curves less than 0.1.
_EDGES_OF_TEXT = 0.2
_WINDOW_PX = (25, 7)  # some five letters of one line
# How far around a word its own strokes, accents and underlining reach.
_AROUND_PX = 5
# Lighter print needs a darker ground; of darker print the letters themselves may be most of a box.
_LIGHT = 200
# The factors by which a picture is reduced to find larger letters, and the least size it must have then.
_STEPS, _LEAST_STEPS = (1, 2, 4), 7
# Some pages are assembled from thousands of pictures: only this many of the largest are checked.
_MOST_PICTURES = 40
_MOST_PIXELS = 40_000_000  # of an image that is looked at by itself: an A4 scan at 600 dpi
_IMAGES = frozenset({"fill-image", "fill-imgmask", "clip-imgmask"})
_TEXTS = frozenset({"fill-text", "stroke-text"})
_PAINTS = _IMAGES | {"fill-path", "stroke-path", "fill-shade"}
_LEAST_COVER_PT = 4.0  # of its lesser side: rules and underlining hide nothing
_THICKEST_PT = 40.0  # line


@dataclass(frozen=True)
class Ink:
    """A page, a pymupdf DisplayList, as grey levels [H, W] at `scale` pixels per point."""

    display: Any
    grey: GreyImage
    scale: float

    @classmethod
    def of(cls, display: Any) -> "Ink":
        """Draws a page. display: a pymupdf DisplayList. Raises: whatever MuPDF does."""
        longest_pt = max(display.rect.width, display.rect.height)
        scale = min(1.0, _LONGEST_PX / longest_pt)
        pixmap = display.get_pixmap(
            matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csGRAY, alpha=False
        )
        return cls(display, rows_of(pixmap), scale)

    @cached_property
    def _colours(self) -> GreyImage:
        """The page in red, green and blue [H, W, 3]: print and its ground may be of one grey."""
        pixmap = self.display.get_pixmap(matrix=pymupdf.Matrix(self.scale, self.scale), alpha=False)
        return np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)

    def is_seen(self, box: Box, grey: int) -> bool:
        """Returns whether print of a grey level can be seen in a box (points), or up to a pixel next to it.

        White print is not seen where there is only black on white: the box's median must differ from it.
        """
        x0, y0, x1, y1 = self._pixels(box, 1)
        inside = self.grey[y0:y1, x0:x1]
        if not inside.size or self.is_plain(box, 1):
            return False
        return grey < _LIGHT or abs(float(np.median(inside)) - grey) >= PRINT_LEVELS

    def is_plain(self, box: Box, around_px: int = -1) -> bool:
        """Returns whether nothing can be seen in a box (points), whose edges do not count."""
        x0, y0, x1, y1 = self._pixels(box, around_px)
        inside = self.grey[y0:y1, x0:x1]
        if not inside.size or int(inside.max()) - int(inside.min()) >= PRINT_LEVELS:
            return False
        return bool((np.ptp(self._colours[y0:y1, x0:x1], axis=(0, 1)) < PRINT_LEVELS).all())

    def text_shares(self, boxes: Iterable[Box]) -> tuple[float, float]:
        """Returns the shares of the page that look like lines of text, where no box (points) is and where one is."""
        covered, looks = self._filled(boxes, _AROUND_PX), _looks_like_text(self.grey)
        return float(np.mean(looks & ~covered)), float(np.mean(looks & covered))

    def printed_share(self, pictures: Iterable[tuple[Box, Image.Image]], boxes: Iterable[Box]) -> float:
        """Returns the share of the boxes (points) that look like text in pictures of the page, 0 to 1."""
        drawn = np.full(self.grey.shape, 255, np.uint8)
        for box, picture in pictures:
            x0, y0, x1, y1 = self._pixels(box, 0)
            if x0 < x1 and y0 < y1:
                drawn[y0:y1, x0:x1] = np.asarray(picture.resize((x1 - x0, y1 - y0), Image.Resampling.BOX))
        inside = self._filled(boxes, 0)
        return float(np.mean(_looks_like_text(drawn)[inside])) if inside.any() else 0.0

    def uncovered_within_pt2(self, pictures: Iterable[Box], boxes: Iterable[Box]) -> float:
        """Returns the largest area, in square points, that looks like text in a picture but is outside the boxes.

        The pictures are also checked at a half and a quarter of their size, at which larger letters look like text.
        """
        places = {self._pixels(picture, 0) for picture in pictures}
        if not places:
            return 0.0
        covered = self._filled(boxes, _AROUND_PX)
        by_size = sorted(places, key=lambda place: (place[0] - place[2]) * (place[3] - place[1]))
        return max(self._uncovered_px(*place, covered) for place in by_size[:_MOST_PICTURES]) / self.scale**2

    def _uncovered_px(self, x0: int, y0: int, x1: int, y1: int, covered: Flags) -> float:
        inside, found = self.grey[y0:y1, x0:x1], 0
        for step in _STEPS:
            if min(inside.shape) < _LEAST_STEPS * step:
                break
            looks = _looks_like_text(_reduced(inside, step))
            rows, columns = looks.shape
            looks &= ~covered[y0:y1:step, x0:x1:step][:rows, :columns]
            found = max(found, int(looks.sum()) * step * step)
        return float(found)

    def covered_share(self, boxes: Iterable[Box]) -> float:
        """Returns the share of the page that the boxes (points) cover together."""
        return float(np.mean(self._filled(boxes, 0)))

    def _filled(self, boxes: Iterable[Box], around_px: int) -> Flags:
        filled = np.zeros(self.grey.shape, np.bool_)
        for box in boxes:
            x0, y0, x1, y1 = self._pixels(box, around_px)
            filled[y0:y1, x0:x1] = True
        return filled

    def _pixels(self, box: Box, around_px: int) -> tuple[int, int, int, int]:
        """Returns the pixel bounds of a box on the page, with a margin."""
        height, width = self.grey.shape
        x0, y0, x1, y1 = (int(edge * self.scale) for edge in box)
        before, after = -around_px, 1 + around_px
        x0, x1 = (max(0, min(width, x)) for x in (x0 + before, x1 + after))
        y0, y1 = (max(0, min(height, y)) for y in (y0 + before, y1 + after))
        return x0, y0, x1, y1


@dataclass(frozen=True, slots=True, kw_only=True)
class Cover:
    """Something that is painted over text. box: in points of the page as shown. number: of the drawing operation.

    kind: MuPDF's name for it. is_written_on: whether there is text on it, too.
    """

    box: Box
    number: int
    kind: str
    is_written_on: bool


@dataclass(frozen=True, slots=True)
class Drawn:
    """A page's images, in points of the page as shown. hidden_share: the share of its texts under images.

    page: the pymupdf Page. covers: what is painted where text was drawn before, whether or not that can still be seen.
    """

    pictures: Sequence[Box]
    hidden_share: float
    page: Any
    covers: Sequence[Cover]

    @classmethod
    def of(cls, page: Any) -> "Drawn":
        """Returns what a page draws. page: a pymupdf Page. Raises: whatever MuPDF does."""
        matrix = page.rotation_matrix
        log = [(kind, tuple(pymupdf.Rect(box) * matrix)) for kind, box, *_ in page.get_bboxlog()]
        pictures: list[Box] = []
        num_texts = num_hidden = 0
        for kind, box in reversed(log):  # from the last drawn to the first
            if kind in _IMAGES:
                pictures.append(box)
            elif kind in _TEXTS:
                num_texts += 1
                middle = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
                num_hidden += any(holds(picture, middle) for picture in pictures)
        return cls(pictures, num_hidden / max(num_texts, 1), page, list(_covers(log)))

    def printed_share(self, ink: Ink, boxes: Iterable[Box]) -> float:
        """Returns the share of the boxes (points) that look like text in the images themselves, 0 to 1.

        It is 1 where that cannot be told: of images that are part of the page's content, too large or turned.
        """
        placed = []
        for info in self.page.get_image_info(xrefs=True)[:_MOST_PICTURES]:
            across, skewed, _, down, *_ = info["transform"]
            is_plain = info["xref"] and across > abs(skewed) and down > 0
            if not is_plain or info["width"] * info["height"] > _MOST_PIXELS:
                return 1.0
            box = tuple(pymupdf.Rect(info["bbox"]) * self.page.rotation_matrix)
            pixmap = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.Pixmap(self.page.parent, info["xref"]))
            placed.append(
                (box, Image.frombytes("L", (pixmap.width, pixmap.height), rows_of(pixmap).tobytes()))
            )
        return ink.printed_share(placed, boxes)


def _covers(log: Sequence[tuple[str, Box]]) -> Iterator[Cover]:
    """Yields what is painted over text, of a page's drawing operations with their boxes."""
    numbers = np.array([number for number, (kind, _) in enumerate(log) if kind in _TEXTS], np.int64)
    texts = np.array([log[number][1] for number in numbers]).reshape(-1, 4)
    first = numbers[0] if numbers.size else len(log)
    for number, (kind, box) in enumerate(log[first:], first):
        lesser = min(box[2] - box[0], box[3] - box[1])
        if (
            kind not in _PAINTS
            or lesser < _LEAST_COVER_PT
            or (kind == "stroke-path" and lesser > _THICKEST_PT)
        ):
            continue
        across = np.minimum(texts[:, 2], box[2]) - np.maximum(texts[:, 0], box[0])
        down = np.minimum(texts[:, 3], box[3]) - np.maximum(texts[:, 1], box[1])
        lower = np.minimum(texts[:, 3] - texts[:, 1], box[3] - box[1])
        meets = (across > 1) & (down > 0.5 * lower)
        if meets[numbers < number].any():
            is_written_on = bool(meets[numbers > number].any())
            yield Cover(box=box, number=number, kind=kind, is_written_on=is_written_on)


def rows_of(pixmap: Any) -> GreyImage:
    """Returns the grey levels [H, W] of a pixmap, the first of its channels."""
    rows = np.frombuffer(pixmap.samples_mv, np.uint8).reshape(pixmap.height, pixmap.stride)
    return np.array(rows[:, : pixmap.width * pixmap.n : pixmap.n])


def _looks_like_text(grey: GreyImage) -> Flags:
    """Returns around which pixels there are as many edges as in text; beyond the page there are none."""
    edges = np.zeros(grey.shape, np.bool_)
    edges[:, 1:] = (
        np.maximum(grey[:, 1:], grey[:, :-1]) - np.minimum(grey[:, 1:], grey[:, :-1]) > PRINT_LEVELS
    )
    width, height = _WINDOW_PX
    padded = np.pad(edges, ((height // 2, height // 2), (width // 2, width // 2)))
    dense: Flags = counts_in_windows(padded, height, width) > _EDGES_OF_TEXT * width * height
    return dense


def _reduced(grey: GreyImage, step: int) -> GreyImage:
    """Returns the means of squares of step x step pixels; incomplete squares at the edges are cut off."""
    height, width = grey.shape[0] // step, grey.shape[1] // step
    squares = grey[: height * step, : width * step].reshape(height, step, width, step)
    reduced: GreyImage = squares.mean(axis=(1, 3)).astype(np.uint8)
    return reduced
