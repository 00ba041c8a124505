"""Resizes pictures bit for bit as Pillow's filters do, without the work for white paper.

Pillow resizes in two passes, each row by itself and each column by itself, and rounds in between. So rows and columns
of nothing but paper need no pass, and a coloured page's further channels are resized only where they differ from the
first. The rest goes through Pillow four rows, or columns, at a time: as the four channels of one picture, which takes
less time than four grey ones.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image

from encoders.views import UInt8Array

_BICUBIC = Image.Resampling.BICUBIC
_BANDS = 4


@dataclass(frozen=True, slots=True)
class _Resized:
    """A channel before resizing [H, W], after the first pass, and after both [h, w]."""

    whole: UInt8Array
    halfway: UInt8Array
    both: UInt8Array


def resized(planes: UInt8Array, width: int, height: int, kind: Image.Resampling = _BICUBIC) -> UInt8Array:
    """Returns channels [C, H, W] uint8 resized to [C, height, width], each as by Image.resize in mode L."""
    _, high, wide = planes.shape
    columns_first = takes_columns_first((wide, high), (width, height))
    resize = _columns_first if columns_first else _rows_first
    found: list[_Resized] = []
    for plane in planes:
        like = found[0] if found else _plain(plane, width, height, columns_first=columns_first)
        found.append(resize(plane, like, kind))
    return np.stack([channel.both for channel in found])


def takes_columns_first(size: tuple[int, int], wanted: tuple[int, int]) -> bool:
    """Returns whether Pillow resizes columns first. size, wanted: (width, height) before and after."""
    (wide, high), (width, height) = size, wanted
    if not _weighs_passes():
        return high > 100 * wide and height < high
    return height < high and high - height > 2 * (wide - width)


@cache
def _weighs_passes() -> bool:
    """Returns whether this Pillow picks the order with less work: 13 does, 12 only for very thin pictures."""
    noise = Image.fromarray((np.arange(720) * 89 % 251).astype(np.uint8).reshape(60, 12))
    return noise.resize((20, 9), _BICUBIC) == noise.resize((12, 9), _BICUBIC).resize((20, 9), _BICUBIC)


def _plain(plane: UInt8Array, width: int, height: int, *, columns_first: bool) -> _Resized:
    """Returns a channel of paper alone, which resizing leaves as it is.

    Pillow's weights are integers that sum to 2^22, give or take half of one for each: where fewer than 16,000 pixels
    make
    one, 255 times the error stays below the half at which it would round differently.
    """
    paper, (high, wide) = plane[0, 0], plane.shape
    halfway = (height, wide) if columns_first else (high, width)
    return _Resized(*(np.broadcast_to(paper, shape) for shape in (plane.shape, halfway, (height, width))))


def _rows_first(plane: UInt8Array, like: _Resized, kind: Image.Resampling) -> _Resized:
    """Resizes a channel that is mostly equal to another one, rows first."""
    halfway = _changed_across(plane, like.whole, like.halfway, kind)
    return _Resized(plane, halfway, _changed_down(halfway, like.halfway, like.both, kind))


def _columns_first(plane: UInt8Array, like: _Resized, kind: Image.Resampling) -> _Resized:
    """Resizes a channel that is mostly equal to another one, columns first."""
    halfway = _changed_down(plane, like.whole, like.halfway, kind)
    return _Resized(plane, halfway, _changed_across(halfway, like.halfway, like.both, kind))


def _changed_across(
    picture: UInt8Array, like: UInt8Array, resized_like: UInt8Array, kind: Image.Resampling
) -> UInt8Array:
    """Returns a picture [H, W] resized to [H, w], redoing only the rows that differ from one already resized."""
    rows = (picture != like).any(axis=1)
    found = resized_like.copy()
    if rows.any():
        found[rows] = _across(picture[rows], found.shape[1], kind)
    return found


def _changed_down(
    picture: UInt8Array, like: UInt8Array, resized_like: UInt8Array, kind: Image.Resampling
) -> UInt8Array:
    """Returns a picture [H, W] resized to [h, W], redoing only the columns that differ from one already resized."""
    columns = np.flatnonzero((picture != like).any(axis=0))
    found = resized_like.copy()
    if len(columns):
        span = slice(int(columns[0]), int(columns[-1]) + 1)
        found[:, span] = _down(picture[:, span], len(found), kind)
    return found


def _across(rows: UInt8Array, width: int, kind: Image.Resampling) -> UInt8Array:
    """Returns rows [N, W] resized to [N, width], each by itself."""
    if rows.shape[1] == width:
        return rows
    quarter = -(-len(rows) // _BANDS)
    padded = np.concatenate([rows, np.zeros((_BANDS * quarter - len(rows), rows.shape[1]), np.uint8)])
    bands = [Image.fromarray(band) for band in padded.reshape(_BANDS, quarter, -1)]
    # At equal height Pillow skips the other pass.
    picture = Image.merge("CMYK", bands).resize((width, quarter), kind)
    return np.concatenate([np.asarray(band) for band in picture.split()])[: len(rows)]


def _down(columns: UInt8Array, height: int, kind: Image.Resampling) -> UInt8Array:
    """Returns columns [H, N] resized to [height, N], each by itself."""
    if len(columns) == height:
        return columns
    number = columns.shape[1]
    quarter = -(-number // _BANDS)
    padded = np.zeros((len(columns), _BANDS * quarter), np.uint8)
    padded[:, :number] = columns
    picture = Image.frombuffer("CMYK", (quarter, len(columns)), padded, "raw", "CMYK", 0, 1)
    return np.asarray(picture.resize((quarter, height), kind)).reshape(height, -1)[:, :number]
