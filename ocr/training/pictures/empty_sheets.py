"""Draws empty sheets: paper as a scanner sees it, what happened to it, and its print before anybody writes on it.

Dust, streaks and the like are worn in later (ocr.training.augment).
"""

import random
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from ocr.training.pictures.textures import Grey, clouds, grain


def blank(rng: random.Random, width_px: int, height_px: int) -> Grey:
    """Returns white or off-white paper, sometimes mottled, unevenly lit or grainy."""
    white = 255 if rng.random() < 0.5 else rng.randint(190, 254)
    paper = np.full((height_px, width_px), white, np.uint8)
    if rng.random() < 0.25:
        shade = np.asarray(Image.fromarray(clouds(rng, 64, 64)).resize((width_px, height_px)))
        paper -= np.minimum(shade // rng.choice([4, 8, 16, 24]), paper)
    return grain(rng, paper, rng.uniform(1, 10)) if rng.random() < 0.3 else paper


def stains(rng: random.Random, image: Image.Image) -> None:
    """Draws soft dark or light patches and rings, as from water and cups."""
    width, height = image.size
    mask = Image.new("L", (width // 8 + 1, height // 8 + 1), 0)
    draw, reach = ImageDraw.Draw(mask), max(mask.size)
    for _ in range(rng.randint(1, 6)):
        x, y, size = (rng.uniform(0, mask.width), rng.uniform(0, mask.height), rng.uniform(0.03, 0.3) * reach)
        box, depth = (x, y, x + size, y + size * rng.uniform(0.6, 1.5)), rng.randint(20, 110)
        if rng.random() < 0.3:
            draw.ellipse(box, None, depth, max(1, int(size / 14)))
        else:
            draw.ellipse(box, depth)
    mask = mask.filter(ImageFilter.GaussianBlur(rng.uniform(0.6, 6))).resize((width, height))
    image.paste(rng.choice([0, 60, 120]), (0, 0), mask)


def holes(rng: random.Random, image: Image.Image) -> None:
    """Draws two to four punch holes or a spiral binding's row along an edge."""
    draw, (width, height) = ImageDraw.Draw(image), image.size
    count = rng.choice([2, 2, 3, 4, 30])
    radius = width * (rng.uniform(0.009, 0.016) if count < 9 else 0.006)
    across = width * rng.uniform(0.025, 0.06)
    across = width - across if rng.random() < 0.3 else across
    fill = rng.choice([0, 30, 90, 170, 215])
    for number in range(count):
        y = height * (number + 1) / (count + 1)
        draw.ellipse((across - radius, y - radius, across + radius, y + radius), fill, rng.choice([None, 60]))


def folds(rng: random.Random, image: Image.Image) -> None:
    """Draws a dark line next to a light one where the sheet was folded; a dog-eared corner."""
    draw, (width, height) = ImageDraw.Draw(image), image.size
    for _ in range(rng.randint(1, 3)):
        dark, tilt = rng.randint(120, 225), rng.uniform(-0.01, 0.01)
        if rng.random() < 0.7:
            y = height * rng.choice([0.33, 0.5, 0.67, rng.random()])
            draw.line([(0, y), (width, y + tilt * width)], dark, rng.randint(1, 3))
            draw.line([(0, y + 3), (width, y + 3 + tilt * width)], 250, 2)
        else:
            x = width * rng.choice([0.5, rng.random()])
            draw.line([(x, 0), (x + tilt * height, height)], dark, rng.randint(1, 3))
    if rng.random() < 0.3:
        size = width * rng.uniform(0.04, 0.15)
        draw.polygon([(width - size, 0), (width, 0), (width, size)], rng.randint(60, 200))
        draw.line([(width - size, 0), (width, size)], 110, 2)


def staples(rng: random.Random, image: Image.Image) -> None:
    """Draws a staple, or the two holes and the shadow it left."""
    draw, (width, height) = ImageDraw.Draw(image), image.size
    for _ in range(rng.randint(1, 3)):
        x, y, wide = width * rng.uniform(0.02, 0.12), height * rng.uniform(0.01, 0.08), width * 0.03
        tilt, dark = rng.uniform(-0.8, 0.8) * wide, rng.randint(0, 140)
        if rng.random() < 0.6:
            draw.line([(x, y), (x + wide, y + tilt)], dark, rng.randint(1, 4))
        for end in ((x, y), (x + wide, y + tilt)):
            draw.ellipse((end[0] - 2, end[1] - 2, end[0] + 2, end[1] + 2), dark)


def edges(rng: random.Random, image: Image.Image) -> None:
    """Draws black or grey bands and wedges beyond the sheet, and the shadow of a spine."""
    draw, (width, height) = ImageDraw.Draw(image), image.size
    fill = rng.choice([0, 0, 25, 70, 140])
    for _ in range(rng.randint(1, 3)):
        side, deep, skew = rng.randrange(4), rng.uniform(0.004, 0.05), rng.uniform(-0.02, 0.02)
        near, far = deep * width, max(0.0, deep + skew) * width
        corners: list[list[tuple[float, float]]] = [
            [(0, 0), (near, 0), (far, height), (0, height)],
            [(width, 0), (width - near, 0), (width - far, height), (width, height)],
            [(0, 0), (0, near), (width, far), (width, 0)],
            [(0, height), (0, height - near), (width, height - far), (width, height)],
        ]
        draw.polygon(corners[side], fill)
    if rng.random() < 0.3:
        wide = int(width * rng.uniform(0.03, 0.12))
        ramp = np.linspace(rng.randint(60, 190), 0, wide)[None].repeat(2, 0).astype(np.uint8)
        image.paste(0, (0, 0), Image.fromarray(ramp).resize((wide, height)))


WEAR: tuple[Callable[[random.Random, Image.Image], None], ...] = (stains, holes, folds, staples, edges)


def ruled(rng: random.Random, image: Image.Image) -> None:
    """Draws ruled or squared writing paper, with or without a margin line."""
    draw, (width, height) = ImageDraw.Draw(image), image.size
    pitch, shade, wide = rng.uniform(0.012, 0.05) * width, rng.randint(60, 220), rng.choice([1, 1, 2])
    top = rng.uniform(0, 0.15) * height
    inset = rng.choice([0.0, 0.06]) * width
    for row in range(int((height - top) / pitch)):
        y = top + row * pitch
        draw.line([(inset, y), (width - inset, y)], shade, wide)
    if rng.random() < 0.45:
        for column in range(int(width / pitch) + 1):
            draw.line([(column * pitch, top), (column * pitch, height)], shade, wide)
    elif rng.random() < 0.5:
        draw.line([(0.12 * width, 0), (0.12 * width, height)], shade, wide)


def grid(rng: random.Random, image: Image.Image) -> None:
    """Draws empty tables: uneven columns, perhaps shaded heads, rows with or without rules."""
    draw, (width, height) = ImageDraw.Draw(image), image.size
    y, shade, wide = rng.uniform(0.03, 0.2) * height, rng.randint(0, 170), rng.choice([1, 1, 2, 3])
    while y < 0.85 * height:
        left, right = rng.uniform(0.04, 0.15) * width, rng.uniform(0.8, 0.96) * width
        cuts = [left, *sorted(rng.uniform(left, right) for _ in range(rng.randint(1, 8))), right]
        pitch, rows = rng.uniform(0.012, 0.04) * height, rng.randint(2, 30)
        rows = max(1, min(rows, int((0.95 * height - y) / pitch)))
        if rng.random() < 0.4:
            draw.rectangle((left, y, right, y + pitch), rng.randint(120, 235))
        for row in range(rows + 1):
            draw.line([(left, y + row * pitch), (right, y + row * pitch)], shade, wide)
        for cut in cuts if rng.random() < 0.8 else ():
            draw.line([(cut, y), (cut, y + rows * pitch)], shade, wide)
        y += (rows + rng.randint(2, 8)) * pitch
        if rng.random() < 0.5:
            return


def form(rng: random.Random, image: Image.Image) -> None:
    """Draws an empty form's frames, tick boxes, lines and dotted lines to write on, with no words next to them."""
    draw, (width, height) = ImageDraw.Draw(image), image.size
    y, shade, pitch = 0.05 * height, rng.randint(0, 150), rng.uniform(0.02, 0.04) * height
    while y < 0.93 * height:
        x = rng.uniform(0.05, 0.4) * width
        end = rng.uniform(x / width + 0.1, 0.95) * width
        kind = rng.choice(["line", "line", "dots", "box", "ticks", "rule", "gap"])
        if kind == "line":
            draw.line([(x, y), (end, y)], shade, 1)
        elif kind == "dots":
            for dot in range(int((end - x) / 7)):
                draw.rectangle((x + 7 * dot, y, x + 7 * dot + 1, y + 1), shade)
        elif kind == "box":
            deep = rng.randint(1, 5) * pitch
            draw.rectangle((x, y, end, min(y + deep, 0.97 * height)), None, shade, rng.choice([1, 2]))
            y += deep
        elif kind == "ticks":
            for tick in range(rng.randint(1, 6)):
                left = x + 4 * tick * pitch
                draw.rectangle((left, y, left + 0.6 * pitch, y + 0.6 * pitch), None, shade, 2)
        elif kind == "rule":
            draw.rectangle((0.05 * width, y, 0.95 * width, y + rng.randint(1, 5)), shade)
        y += pitch * rng.uniform(0.8, 2)


PRINTED: tuple[Callable[[random.Random, Image.Image], None], ...] = (ruled, ruled, grid, grid, form)
