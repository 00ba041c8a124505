"""Stores a page's channels each contiguously; a page without colour has a single one, which serves as all three.

Most pages have no colour, and then every step costs a third. Such a page is an array [H, W, 3] like any other, except
that its channels share the same memory; those of a coloured one follow each other. Both are read-only.
"""

import numpy as np
from PIL import Image

from encoders.views import UInt8Array


def of_planes(planes: UInt8Array) -> UInt8Array:
    """Returns planes [C, H, W], C 1 or 3, as an image [H, W, 3] RGB that shares their memory."""
    num_channels, height, width = planes.shape
    if num_channels == 1:
        return np.broadcast_to(planes[0, :, :, None], (height, width, 3))
    return planes.transpose(1, 2, 0)


def of_picture(picture: Image.Image) -> UInt8Array:
    """Returns a picture of any mode that Pillow converts to RGB as an image [H, W, 3] in this module's layout."""
    if picture.mode not in ("L", "RGB"):
        picture = picture.convert("L" if picture.mode == "1" else "RGB")
    if picture.mode == "L":
        return of_planes(np.asarray(picture)[None])
    red, green, blue = map(np.asarray, picture.split())
    is_grey = np.array_equal(red, green) and np.array_equal(red, blue)
    return of_planes(red[None] if is_grey else np.stack([red, green, blue]))


def planes_of(image: UInt8Array) -> UInt8Array:
    """Returns planes [C, H, W], each contiguous: C is 1 for an image whose channels share memory, else 3.

    image: [H, W, 3] or [H, W] uint8.
    """
    if image.ndim == 2:
        return np.ascontiguousarray(image)[None]
    if image.strides[2] == 0:
        return np.ascontiguousarray(image[..., 0])[None]
    return np.ascontiguousarray(image.transpose(2, 0, 1))


def picture_of(image: UInt8Array, factor: int = 1) -> Image.Image:
    """Returns an image [H, W, 3], reduced by a factor, as a picture: mode L if its channels share memory, else RGB."""
    bands = [Image.fromarray(plane) for plane in planes_of(image)]
    bands = [band.reduce(factor) for band in bands] if factor > 1 else bands
    return bands[0] if len(bands) == 1 else Image.merge("RGB", bands)


def resized(
    planes: UInt8Array, width: int, height: int, kind: Image.Resampling = Image.Resampling.BICUBIC
) -> UInt8Array:
    """Returns planes [C, H, W] resized to [C, height, width], each by itself."""
    return np.stack([np.asarray(Image.fromarray(plane).resize((width, height), kind)) for plane in planes])


def turned(image: UInt8Array, quarter_turns: int) -> UInt8Array:
    """Returns an image [H, W, 3] turned counterclockwise by quarters of a turn."""
    return of_planes(np.ascontiguousarray(np.rot90(planes_of(image), quarter_turns, axes=(1, 2))))


def is_grey(image: UInt8Array) -> bool:
    """Returns whether the channels of an image [H, W, 3] are equal. A few pixels usually reveal colour."""
    return image.strides[2] == 0 or all(
        np.array_equal(image[::step, ::step, 0], image[::step, ::step, channel])
        for step in (16, 1)
        for channel in (1, 2)
    )
