"""Wears clean pages as scanners, cameras and fax machines do."""

import numpy as np
from PIL import Image, ImageFilter


def scan(page: Image.Image, degrees: float, seed: int) -> Image.Image:
    """Returns a grey page as a flatbed gives it: a little crooked and soft, grainy, a shadow at one edge."""
    rng = np.random.default_rng(seed)
    turned = page.convert("L").rotate(degrees, Image.Resampling.BICUBIC, fillcolor=255)
    grey = np.asarray(turned.filter(ImageFilter.GaussianBlur(0.6)), dtype=np.float32)
    paper = 238 + rng.normal(0, 3.0, grey.shape)
    ink = 28 + rng.normal(0, 6.0, grey.shape)
    mixed = ink + (paper - ink) * grey / 255
    columns = np.arange(grey.shape[1])
    mixed -= 60 * np.exp(-columns / 18.0)
    return Image.fromarray(np.clip(mixed, 0, 255).astype(np.uint8))


def photograph(page: Image.Image, seed: int) -> Image.Image:
    """Returns a colour photo of a sheet on a table: perspective, warm uneven light, noise."""
    rng = np.random.default_rng(seed)
    width, height = page.size
    table = Image.new("RGB", (round(width * 1.12), round(height * 1.10)), (112, 84, 60))
    w, h = table.size
    # Where the table's corners lie on the sheet: the inverse of the sheet lying askew on the table.
    quad = (-0.06 * width, -0.05 * height, -0.075 * width, 1.05 * height)
    quad += (1.07 * width, 1.06 * height, 1.05 * width, -0.06 * height)
    sheet = page.convert("RGB").transform((w, h), Image.Transform.QUAD, quad, Image.Resampling.BICUBIC)
    inside = Image.new("L", page.size, 255).transform((w, h), Image.Transform.QUAD, quad)
    table.paste(sheet, (0, 0), inside)
    pixels = np.asarray(table.filter(ImageFilter.GaussianBlur(0.7)), dtype=np.float32)
    y, x = np.mgrid[0:h, 0:w]
    light = 0.98 - 0.30 * (x / w) ** 1.5 - 0.12 * (y / h)
    tint = np.array([1.0, 0.955, 0.87])
    lit = pixels * light[..., None] * tint + rng.normal(0, 2.5, pixels.shape)
    return Image.fromarray(np.clip(lit, 0, 255).astype(np.uint8))


def fax(page: Image.Image, seed: int) -> Image.Image:
    """Returns a 1-bit page with a few lost and added dots."""
    rng = np.random.default_rng(seed)
    black = np.asarray(page.convert("L")) < 150
    black ^= rng.random(black.shape) < 0.0002
    return Image.fromarray(~black)
