"""Samples pieces of possible text lines, all scaled to one size, from the page as it is and from it on its side.

The page is examined in upright strips a few letters wide. In a strip a line of text is a run of rows with much
ink, as high as its small letters (as in ocr.layout.letter_sizes, but coarser and several times faster). Its settings
are ORIENTATION_INK of ocr.imaging.measures, and those of letter_rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from encoders.views import UInt8Array
from ocr.imaging.ink import contrast_and_print
from ocr.imaging.measures import ORIENTATION_INK
from ocr.imaging.planes import picture_of
from ocr.imaging.profiles import REACH_PX, Floats, Ints, Mask, letter_rows

# The height and width of a piece in pixels; small letters are LETTER_PX high.
PIECE_HEIGHT, PIECE_WIDTH, LETTER_PX = 16, 48, 5
_STRIP_PX = 40  # the network was trained on pieces of strips this wide
# Pieces whose tops and bottoms differ by no more than this are of the same line.
_LEVEL_PX = 2
_ROLL = 4  # times as long as wide: of longer pages, such as till rolls, the short side tells the scale
# Pieces are taken from the page halved up to this many times, where its pixels are not much finer than theirs.
_MAX_LEVEL, _FINER = 3, 1.2


@dataclass(frozen=True, slots=True)
class Places:
    """Places of pieces. x: middle of the strip; top, bottom: of the small letters; num_beside: neighbours, 0 to 2."""

    x: Ints
    top: Ints
    bottom: Ints
    num_beside: Ints

    def __len__(self) -> int:
        return len(self.x)

    def take(self, index: Ints) -> "Places":
        """Returns the places that an index selects."""
        return Places(self.x[index], self.top[index], self.bottom[index], self.num_beside[index])


def reduced(pixels: UInt8Array, side_px: float) -> Image.Image:
    """Returns a page, [H, W, 3] or [H, W] uint8, in grey, reduced by a whole number: its long side to about side_px."""
    return picture_of(pixels, round(length_px(pixels) / side_px)).convert("L")


def length_px(pixels: UInt8Array) -> int:
    """Returns the side by which a page's scale is told."""
    return int(min(max(pixels.shape[:2]), _ROLL * min(pixels.shape[:2])))


def sampled(pixels: UInt8Array, side_px: float, count: int, turns: Sequence[int]) -> list[Floats]:
    """Returns at most count pieces of a page about side_px large, for each of so many quarter turns of it.

    pixels: [H, W, 3] or [H, W] uint8.
    """
    contrast, ink = contrast_and_print(reduced(pixels, side_px), ORIENTATION_INK)
    return [pieces(contrast, ink, count, quarter_turns) for quarter_turns in turns]


def pieces(contrast: UInt8Array, ink: Mask, count: int, quarter_turns: int = 0) -> Floats:
    """Returns at most count pieces of a page that is turned counterclockwise first, as `windows` does."""
    places = chosen(find_places(np.rot90(ink, quarter_turns)), count)
    return windows(contrast, places, quarter_turns)


def find_places(ink: Mask) -> Places:
    """Returns the places of possible pieces of level lines. ink: [H, W] bool."""
    height, width = ink.shape
    num_strips = width // _STRIP_PX
    if not num_strips or height < 2 * REACH_PX:
        return Places(*np.zeros((4, 0), dtype=np.int64))
    left = (width - num_strips * _STRIP_PX) // 2
    strips = ink[:, left : left + num_strips * _STRIP_PX].reshape(height, num_strips, _STRIP_PX)
    counts = np.einsum("hsk->hs", strips.view(np.uint8))  # sums, as sum() finds them in three times the time
    strip, top, bottom = letter_rows(counts, _STRIP_PX)
    x = left + strip * _STRIP_PX + _STRIP_PX // 2
    return Places(x, top, bottom, _num_beside(strip, top, bottom, (height, num_strips)))


def chosen(places: Places, count: int) -> Places:
    """Returns at most count places, spread over the page, preferring those whose line goes on at both sides."""
    kept: list[Ints] = []
    for num_beside in (2, 1, 0):
        room = count - sum(map(len, kept))
        index = np.flatnonzero(places.num_beside == num_beside)
        if len(index) > room:
            index = index[np.linspace(0, len(index) - 1, room).astype(np.int64)]
        kept.append(index)
    return places.take(np.concatenate(kept))


def windows(contrast: UInt8Array, places: Places, quarter_turns: int = 0) -> Floats:
    """Returns the pieces scaled to one size, ink 1 and paper 0: [N, PIECE_HEIGHT, PIECE_WIDTH] float32.

    places: on the page turned counterclockwise so often.
    """
    found = np.zeros((len(places), PIECE_HEIGHT, PIECE_WIDTH), dtype=np.float32)
    step = (places.bottom - places.top) / LETTER_PX
    level = np.clip(np.log2(np.maximum(step, 1) / _FINER).astype(np.int64), 0, _MAX_LEVEL)
    for number in np.unique(level):
        here = np.flatnonzero(level == number)
        factor = 2**number
        if number:
            axes = (1, 0) if quarter_turns % 2 else (0, 1)  # so that rows are as they lie in memory
            rows = Image.fromarray(np.rot90(contrast, quarter_turns).transpose(axes))
            framed = np.pad(np.asarray(rows.reduce(int(factor))), 1).transpose(axes)
        else:
            framed = np.rot90(np.pad(contrast, 1), quarter_turns)
        middle = (places.top + places.bottom)[here] / 2 / factor - 0.5
        found[here] = _sampled(framed, places.x[here] / factor - 0.5, middle, step[here] / factor)
    most = np.maximum(found.max(axis=(1, 2), keepdims=True), 1.0)
    ink: Floats = np.minimum(found / most, 1.0)
    return ink


def _sampled(framed: UInt8Array, x: Floats, y: Floats, step: Floats) -> Floats:
    """Returns bilinear windows around points. framed: the image in a frame of paper. step: its pixels per window's."""
    height, width = (side - 2 for side in framed.shape)
    rows = y[:, None] + step[:, None] * (np.arange(PIECE_HEIGHT) - (PIECE_HEIGHT - 1) / 2)
    columns = x[:, None] + step[:, None] * (np.arange(PIECE_WIDTH) - (PIECE_WIDTH - 1) / 2)
    rows, columns = np.clip(rows + 1, 0, height), np.clip(columns + 1, 0, width)
    r0, c0 = rows.astype(np.int64)[:, :, None], columns.astype(np.int64)[:, None, :]
    down, right = (rows[:, :, None] - r0).astype(np.float32), (columns[:, None, :] - c0).astype(np.float32)
    above = framed[r0, c0] * (1 - right) + framed[r0, c0 + 1] * right
    below = framed[r0 + 1, c0] * (1 - right) + framed[r0 + 1, c0 + 1] * right
    return (above * (1 - down) + below * down).astype(np.float32, copy=False)


def _num_beside(strip: Ints, top: Ints, bottom: Ints, shape: tuple[int, int]) -> Ints:
    """Returns at how many sides of each piece another one lies at the same height."""
    height, num_strips = shape
    starts = np.zeros((height + 1 + 2 * _LEVEL_PX, num_strips + 2), dtype=np.bool_)
    ends = np.zeros_like(starts)
    for shift in range(2 * _LEVEL_PX + 1):
        starts[top + shift, strip + 1] = True
        ends[bottom + shift, strip + 1] = True
    top, bottom = top + _LEVEL_PX, bottom + _LEVEL_PX
    before, after = (starts[top, strip + side] & ends[bottom, strip + side] for side in (0, 2))
    return before.astype(np.int64) + after
