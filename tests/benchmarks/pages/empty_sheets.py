"""Draws sheets with nothing printed on them, as scanners and copiers deliver them, for tests and benchmarks.

Each is an A4 sheet, [H, W, 3] uint8, at the given resolution. `sheets` returns one of every kind.
"""

import math
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from encoders.views import UInt8Array

A4_IN = (8.27, 11.69)
Rng = np.random.Generator


def paper(dpi: float, rng: Rng, level: float = 240.0, sigma: float = 3.0) -> Image.Image:
    """Returns grainy paper, mode L."""
    size = round(A4_IN[1] * dpi), round(A4_IN[0] * dpi)
    return Image.fromarray(np.clip(rng.normal(level, sigma, size), 0, 255).astype(np.uint8))


def black_edges(dpi: float, rng: Rng) -> Image.Image:
    """Returns a sheet smaller than the glass, scanned with the lid open: black to the left and below."""
    page = paper(dpi, rng)
    draw = ImageDraw.Draw(page)
    draw.rectangle((0, 0, 0.4 * dpi, page.height), fill=10)
    draw.rectangle((0, page.height - 0.6 * dpi, page.width, page.height), fill=14)
    return page.filter(ImageFilter.GaussianBlur(dpi / 200))


def skewed_edges(dpi: float, rng: Rng) -> Image.Image:
    """Returns a sheet skewed on the glass by up to 4 degrees: black wedges on every side."""
    angle = float(rng.uniform(1, 4)) * (1 if rng.random() < 0.5 else -1)
    page = paper(dpi, rng)
    inner = page.resize((round(page.width * 0.97), round(page.height * 0.97)))
    glass = Image.new("L", page.size, 12)
    glass.paste(inner, ((page.width - inner.width) // 2, (page.height - inner.height) // 2))
    return glass.rotate(angle, Image.Resampling.BICUBIC, fillcolor=12)


def grey_edges(dpi: float, rng: Rng) -> Image.Image:
    """Returns a sheet with shadows that fade towards the middle, as from a book's spine or an open lid."""
    page = np.asarray(paper(dpi, rng)).astype(np.float64)
    x, y = np.arange(page.shape[1]) / dpi, np.arange(page.shape[0]) / dpi
    page -= 150 * np.exp(-x / 0.25)[None, :] + 60 * np.exp(-(y[-1] - y) / 0.15)[:, None]
    page -= 25 * (y / y[-1])[:, None]
    return Image.fromarray(np.clip(page, 0, 255).astype(np.uint8))


def punched(dpi: float, rng: Rng) -> Image.Image:
    """Returns a sheet with two punch holes, black from the lid behind them, each with a lighter rim."""
    page = paper(dpi, rng)
    draw = ImageDraw.Draw(page)
    for y_mm in (108.5, 188.5):
        _disc(draw, 12 / 25.4 * dpi, y_mm / 25.4 * dpi, 3 / 25.4 * dpi, 25)
    return page.filter(ImageFilter.GaussianBlur(dpi / 250))


def four_holes(dpi: float, rng: Rng) -> Image.Image:
    """Returns a skewed sheet with four holes, grey from a grey lid."""
    page = paper(dpi, rng)
    draw = ImageDraw.Draw(page)
    for y_mm in (28.5, 108.5, 188.5, 268.5):
        _disc(draw, 12 / 25.4 * dpi, y_mm / 25.4 * dpi, 3 / 25.4 * dpi, 120)
    return page.rotate(1.5, Image.Resampling.BICUBIC, fillcolor=240).filter(
        ImageFilter.GaussianBlur(dpi / 200)
    )


def stapled(dpi: float, rng: Rng) -> Image.Image:
    """Returns a sheet with a staple's shadow in a corner, and the crease of a folded corner."""
    page = paper(dpi, rng)
    draw = ImageDraw.Draw(page)
    x, y, length = 0.45 * dpi, 0.4 * dpi, 0.4 * dpi
    end = x + length * math.cos(0.8), y + length * math.sin(0.8)
    draw.line((x, y, *end), fill=90, width=max(1, round(dpi / 60)))
    draw.line((0, 1.4 * dpi, 1.5 * dpi, 0), fill=212, width=max(1, round(dpi / 80)))
    return page.filter(ImageFilter.GaussianBlur(dpi / 150))


def streaked(dpi: float, rng: Rng) -> Image.Image:
    """Returns a sheet with faint vertical streaks from dust on a feeder's glass."""
    page = np.asarray(paper(dpi, rng)).astype(np.float64)
    for x in rng.uniform(0.1, 0.9, 3):
        at = round(x * page.shape[1])
        page[:, at : at + 2] -= 14
    return Image.fromarray(np.clip(page, 0, 255).astype(np.uint8))


def copied(dpi: float, rng: Rng) -> Image.Image:
    """Returns a copy of a copy, black and white: specks, and a frayed black edge."""
    page = np.full((round(A4_IN[1] * dpi), round(A4_IN[0] * dpi)), 255, dtype=np.uint8)
    page[rng.random(page.shape) < 0.0002] = 0
    frayed = (0.25 + 0.1 * rng.random(page.shape[0])) * dpi
    page[np.arange(page.shape[1])[None, :] < frayed[:, None]] = 0
    return Image.fromarray(page)


def coloured(dpi: float, rng: Rng) -> Image.Image:
    """Returns coloured paper with grain."""
    tint = np.array([250, 214, 120]) - rng.uniform(0, 40, 3)
    grain = np.asarray(paper(dpi, rng, level=0, sigma=1)).astype(np.float64)[..., None]
    noise = rng.normal(0, 4, grain.shape)
    return Image.fromarray(np.clip(tint + grain + noise, 0, 255).astype(np.uint8))


KINDS: tuple[Callable[[float, Rng], Image.Image], ...] = (
    black_edges, skewed_edges, grey_edges, punched, four_holes, stapled, streaked, copied, coloured,
)  # fmt: skip


def sheets(dpi: float, seed: int, only: str | None = None) -> dict[str, UInt8Array]:
    """Returns name -> a sheet of every kind, or of one only; the same ones for the same seed."""
    kinds = [kind for kind in KINDS if only in (None, kind.__name__)]
    return {
        kind.__name__: np.asarray(kind(dpi, np.random.default_rng([seed, number])).convert("RGB"))
        for number, kind in enumerate(kinds)
    }


def _disc(draw: ImageDraw.ImageDraw, x: float, y: float, radius: float, fill: int) -> None:
    draw.ellipse((x - 1.12 * radius, y - 1.12 * radius, x + 1.12 * radius, y + 1.12 * radius), fill=250)
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)
