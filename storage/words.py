"""Packs where a page's words stand into one compact value, and unpacks it.

A page's words are its text, split at white space: the value has a box and a confidence for each in that order, and no
letters. Version 1 is a byte 1, and behind it, compressed by zlib, five planes of little-endian 32-bit integers: left
edges (each less the right edge of the box before), top edges (each less the one before), widths, heights, and
confidences in percent. A word without a box has the width -1, one without a confidence the confidence -1. On a page of
500 words it is about 2 kB.
"""

import struct
import zlib
from collections.abc import Iterable, Sequence

from storage.types import BoxPx, PlacedWord, WordRow

_VERSION = 1
_PLANES = 5
_NONE = -1


def pack(words: Sequence[PlacedWord]) -> bytes:
    """Returns the value for a page's words, in the order of its text."""
    left, top = [0], [0]
    planes: list[list[int]] = [[] for _ in range(_PLANES)]
    for word in words:
        x0, y0, x1, y1 = word.box_px or (left[-1], top[-1], left[-1] + _NONE, top[-1])
        percent = _NONE if word.confidence is None else round(100 * word.confidence)
        for plane, number in zip(
            planes, (x0 - left[-1], y0 - top[-1], x1 - x0, y1 - y0, percent), strict=True
        ):
            plane.append(number)
        if word.box_px is not None:
            left.append(x1)
            top.append(y0)
    numbers = [number for plane in planes for number in plane]
    return bytes([_VERSION]) + zlib.compress(struct.pack(f"<{len(numbers)}i", *numbers), 6)


def packed_for(text: str, words: Sequence[PlacedWord]) -> bytes | None:
    """Returns the value for a text's words; None where no place is known, or where the text has other words."""
    if not any(word.box_px for word in words) or text.split() != [word.text for word in words]:
        return None
    return pack(words)


def unpack(packed: bytes, text: str) -> list[WordRow]:
    """Returns the words of the text with their boxes. Raises: ValueError where the value is not that of the text."""
    if packed[:1] != bytes([_VERSION]):
        raise ValueError("words of another version")
    try:
        content = [number for (number,) in struct.iter_unpack("<i", zlib.decompress(packed[1:]))]
    except (zlib.error, struct.error) as error:
        raise ValueError(f"damaged words: {error}") from error
    names = text.split()
    if len(content) != _PLANES * len(names):
        raise ValueError(f"{len(content) // _PLANES} boxes for {len(names)} words")
    found: list[WordRow] = []
    left = top = 0
    planes = (content[start : start + len(names)] for start in range(0, len(content), max(1, len(names))))
    for name, across, down, width, height, percent in zip(names, *planes, strict=False):
        box: BoxPx | None = None
        if width != _NONE:
            x0, y0 = left + across, top + down
            left, top = x0 + width, y0
            box = (x0, y0, left, y0 + height)
        found.append({"text": name, "box": box, "confidence": None if percent == _NONE else percent / 100})
    return found


def around(boxes: Iterable[BoxPx | None]) -> BoxPx | None:
    """Returns the box around boxes; None where none is known."""
    known = [box for box in boxes if box is not None]
    if not known:
        return None
    x0, y0, x1, y1 = zip(*known, strict=True)
    return min(x0), min(y0), max(x1), max(y1)
