"""Draws pages without text: blank sheets as a scanner delivers them, photographs and drawings."""

import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pymupdf
from PIL import Image, ImageDraw, ImageFilter

from tests.benchmarks.quality.sets.selection import EmptyPage, QualityError

A4_IN = (8.27, 11.69)
_Size = tuple[int, int]


def blank(size: _Size, rng: np.random.Generator) -> Image.Image:
    return Image.new("L", size, 255)


def tinted(size: _Size, rng: np.random.Generator) -> Image.Image:
    """Returns coloured paper."""
    return Image.new("RGB", size, (244, 233, 205))


def specks(size: _Size, rng: np.random.Generator) -> Image.Image:
    """Returns white paper with some dust."""
    page = Image.new("L", size, 255)
    draw = ImageDraw.Draw(page)
    for x, y, radius, grey in rng.random((60, 4)):
        left, top = x * size[0], y * size[1]
        width = 1 + radius * size[0] / 500
        draw.ellipse((left, top, left + width, top + width), fill=int(160 * grey))
    return page


def rules(size: _Size, rng: np.random.Generator) -> Image.Image:
    """Returns a rule below the head, one above the foot, and a frame between them."""
    page = Image.new("L", size, 255)
    draw = ImageDraw.Draw(page)
    left, right = round(size[0] * 0.12), round(size[0] * 0.88)
    for y in (0.08, 0.93):
        draw.line((left, size[1] * y, right, size[1] * y), fill=0, width=max(1, size[0] // 800))
    draw.rectangle((left, size[1] * 0.3, right, size[1] * 0.6), outline=90, width=max(1, size[0] // 500))
    return page


def ruled(size: _Size, rng: np.random.Generator) -> Image.Image:
    """Returns writing paper with nothing written on it."""
    page = Image.new("RGB", size, (252, 252, 250))
    draw = ImageDraw.Draw(page)
    for y in np.linspace(size[1] * 0.1, size[1] * 0.95, 30):
        draw.line((0, y, size[0], y), fill=(150, 175, 215), width=max(1, size[0] // 900))
    draw.line(
        (size[0] * 0.13, 0, size[0] * 0.13, size[1]), fill=(220, 130, 130), width=max(1, size[0] // 900)
    )
    return page


def grey_scan(size: _Size, rng: np.random.Generator) -> Image.Image:
    """Returns a blank sheet from a cheap scanner: grey, grainy, darker at the spine, two folds."""
    grey = 205 + rng.normal(0, 9, (size[1], size[0]))
    x = np.arange(size[0]) / size[0]
    y = np.arange(size[1])[:, None] / size[1]
    grey = grey - 90 * np.exp(-x / 0.03) - 14 * np.exp(-(((y - 0.5) / 0.003) ** 2))
    return _grey(grey - 10 * np.exp(-(((x - 0.5) / 0.003) ** 2)))


def noise(size: _Size, rng: np.random.Generator) -> Image.Image:
    """Returns blotches of all sizes, as a torn copy or a wall."""
    grey = np.full((size[1], size[0]), 150.0)
    for cells in (4, 16, 64, 256):
        coarse = Image.fromarray(rng.integers(0, 256, (cells, cells), dtype=np.uint8))
        grey += (np.asarray(coarse.resize(size, Image.Resampling.BICUBIC), dtype=np.float64) - 128) * 0.3
    return _grey(grey)


def back_side(size: _Size, rng: np.random.Generator) -> Image.Image:
    """Returns short strokes like the faint, illegible mirror image of lines; no letter among them."""
    page = Image.new("L", size, 250)
    draw = ImageDraw.Draw(page)
    for y in np.linspace(size[1] * 0.12, size[1] * 0.88, 45):
        x = size[0] * 0.14
        while x < size[0] * 0.84:
            length = float(rng.uniform(0.01, 0.06)) * size[0]
            draw.line((x, y, x + length, y), fill=228, width=max(2, size[1] // 220))
            x += length + size[0] * 0.012
    return page.filter(ImageFilter.GaussianBlur(size[0] / 350))


_DRAWN: dict[str, Callable[[_Size, np.random.Generator], Image.Image]] = {
    "blank": blank,
    "tinted": tinted,
    "specks": specks,
    "rules": rules,
    "ruled": ruled,
    "grey-scan": grey_scan,
    "noise": noise,
    "back-side": back_side,
}
KINDS = (*_DRAWN, "full-bleed", "on-paper")


def render(page: EmptyPage, dpi: int, roots: dict[str, Path]) -> Image.Image:
    """Returns an A4 page as 8-bit grey or RGB. roots: the unpacked packages by name.

    full-bleed: the picture covers the page, cut where it does not fit. on-paper: it is on white with margins.
    Raises QualityError for an unknown kind or a missing picture.
    """
    size = (round(A4_IN[0] * dpi), round(A4_IN[1] * dpi))
    if page.kind in _DRAWN:
        return _DRAWN[page.kind](size, np.random.default_rng(zlib.crc32(page.title.encode())))
    if page.kind not in KINDS or page.package is None or page.file is None:
        raise QualityError(
            f"{page.name}: kind is one of {', '.join(KINDS)}; the last two need package and file"
        )
    picture = _picture(roots[page.package] / page.file, dpi)
    scale = [size[0] / picture.width, size[1] / picture.height]
    if page.kind == "full-bleed":
        fitted = _scaled(picture, max(scale))
        left, top = (fitted.width - size[0]) // 2, (fitted.height - size[1]) // 2
        return fitted.crop((left, top, left + size[0], top + size[1]))
    fitted = _scaled(picture, 0.76 * min(scale))
    paper = Image.new("RGB", size, (255, 255, 255))
    paper.paste(fitted, ((size[0] - fitted.width) // 2, round((size[1] - fitted.height) * 0.35)))
    return paper


def _picture(file: Path, dpi: int) -> Image.Image:
    if not file.is_file():
        raise QualityError(f"{file}: the package has no such file; is it another version?")
    if file.suffix != ".pdf":
        with Image.open(file) as image:
            return image.convert("RGB")
    with pymupdf.open(file) as document:
        pixmap = document[0].get_pixmap(dpi=dpi, alpha=False)
        return Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)


def _scaled(image: Image.Image, factor: float) -> Image.Image:
    size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
    return image.resize(size, Image.Resampling.LANCZOS)


def _grey(grey: npt.NDArray[np.float64]) -> Image.Image:
    return Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8))
