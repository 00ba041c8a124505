"""The published rules for cutting an image, step by step and with Pillow's pictures, to compare with."""

import math

from PIL import Image

Grid = tuple[int, int]


def nearest(length: float, step: int) -> int:
    return max(round(length / step) * step, step)


def best_size(size: tuple[float, float], scale: int, patch: int, upscale: bool) -> tuple[int, int]:
    width, height = size
    if width * height > scale * scale or upscale:
        ratio = width / height
        height = int(scale / math.sqrt(ratio))
        width = int(height * ratio)
    return nearest(width, patch), nearest(height, patch)


def best_grid(size: tuple[int, int], most: int, scale: int) -> Grid | None:
    wanted = min(math.ceil(size[0] * size[1] / (scale * scale)), most)
    if wanted <= 1:
        return None
    best, least = (1, 1), float("inf")
    for number in [wanted - 1, wanted, wanted + 1]:
        if number == 1 or number > most:
            continue
        for columns in range(1, number + 1):
            if number % columns:
                continue
            distance = abs(math.log(size[0] / size[1]) - math.log(columns / (number // columns)))
            if distance < least:
                best, least = (columns, number // columns), distance
    return best


def cut(
    image: Image.Image, most: int, scale: int = 448, patch: int = 14
) -> tuple[Image.Image, list[Image.Image], Grid | None]:
    """Returns the source image, the slices in rows, and their grid."""
    grid = best_grid(image.size, most, scale)
    if grid is None:
        size = best_size(image.size, scale, patch, upscale=True)
        return image.resize(size, Image.Resampling.BICUBIC), [], None
    source = image.resize(best_size(image.size, scale, patch, upscale=False), Image.Resampling.BICUBIC)
    columns, rows = grid
    cell = nearest(image.width, columns) / columns, nearest(image.height, rows) / rows
    width, height = best_size(cell, scale, patch, upscale=True)
    whole = image.resize((width * columns, height * rows), Image.Resampling.BICUBIC)
    boxes = [
        (x, y, x + width, y + height)
        for y in range(0, whole.height, height)
        for x in range(0, whole.width, width)
    ]
    return source, [whole.crop(box) for box in boxes], grid
