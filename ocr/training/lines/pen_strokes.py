"""Strokes of a pen over and beside print: underlines, crossings-out, rings, ticks, scrawls."""

import math
import random
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from ocr.training.lines.page_lines import Floats

Point = tuple[float, float]
Grey = npt.NDArray[np.uint8]
SHADES = (0, 0, 0, 25, 60, 90, 120)  # of ink in grey: black, blue, pencil


def stroke(rng: random.Random, pixels: Grey, places: Floats, size: float) -> None:
    """Draws one stroke of a pen on or beside print: underline, crossing-out, ring, tick, margin line or scrawl."""
    height, width = pixels.shape
    if len(places):
        x0, x1, baseline, slope, own = places[rng.randrange(len(places))].tolist()
    else:
        x0, baseline, slope, own = rng.uniform(0, 0.6 * width), rng.uniform(0.1, 0.9) * height, 0.0, size
        x1 = x0 + rng.uniform(0.1, 0.4) * width
    start = rng.uniform(x0, max(x0, x1 - own))
    end = min(x1, start + rng.uniform(1, 14) * own)
    y = baseline + slope * (start - x0)
    kind = rng.choice(("under", "under", "through", "ring", "tick", "tick", "margin", "scrawl"))
    if kind == "under":
        points = curve(rng, (start, y + 0.18 * own), (end, y + rng.uniform(0.1, 0.35) * own), 0.02)
    elif kind == "through":
        points = curve(
            rng, (start, y - rng.uniform(0.1, 0.45) * own), (end, y - rng.uniform(0.1, 0.45) * own), 0.03
        )
    elif kind == "ring":
        rx, ry = (end - start) / 2 + 0.6 * own, own * rng.uniform(0.7, 1.2)
        turn = rng.uniform(0, 6)
        points = [
            (
                (start + end) / 2 + rx * math.cos(turn + t / 6) * rng.uniform(0.97, 1.03),
                y - 0.3 * own + ry * math.sin(turn + t / 6) * rng.uniform(0.97, 1.03),
            )
            for t in range(rng.randint(34, 42))
        ]
    elif kind == "tick":
        x = rng.choice((x0 - 1.2 * own, x1 + 0.8 * own, start))
        points = [
            (x, y - 0.4 * own),
            (x + 0.3 * own, y),
            (x + rng.uniform(0.7, 1.4) * own, y - rng.uniform(0.8, 1.5) * own),
        ]
    elif kind == "margin":
        x = rng.choice((x0 - own, x1 + own))
        points = curve(rng, (x, y - own), (x, y + rng.uniform(1, 9) * own), 0.03)
    else:
        points = curve(rng, (start, y), (rng.uniform(0, width), rng.uniform(0, height)), 0.6)
    wide = max(1, round(own * rng.uniform(0.03, 0.12)))
    draw_line(pixels, points, wide, rng.uniform(0.35, 0.95), rng.choice(SHADES))


def curve(rng: random.Random, start: Point, end: Point, bend: float, steps: int = 24) -> list[Point]:
    """Returns points of a cubic curve from start to end; bend: how far it may stray, relative to the distance."""
    reach = bend * math.dist(start, end)
    middle = [
        (
            start[0] + (end[0] - start[0]) * share + rng.uniform(-reach, reach),
            start[1] + (end[1] - start[1]) * share + rng.uniform(-reach, reach),
        )
        for share in (0.33, 0.67)
    ]
    points = []
    for step in range(steps + 1):
        t = step / steps
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
        corners = (start, *middle, end)
        x, y = (sum(w * c[axis] for w, c in zip(weights, corners, strict=True)) for axis in (0, 1))
        points.append((x, y))
    return points


def dashed(rng: random.Random, width: int, height: int, size: float) -> Grey:
    """Returns the ink of a frame of dashes, of one rule where it is as low as that. size: the type's it goes with."""
    thick = max(1, round(size * rng.uniform(0.03, 0.13)))
    ink = np.zeros((max(height, thick), max(width, thick)), np.uint8)
    period, share = thick * math.exp(rng.uniform(0.9, 2.6)), rng.uniform(0.4, 0.75)
    for side in (ink, ink.T) if height > thick else (ink,):
        dash = 255 * np.clip(share * period - np.arange(side.shape[1]) % period, 0, 1)
        side[:thick] = side[-thick:] = np.maximum(side[:thick], dash.astype(np.uint8))
    return ink


def scribble(rng: random.Random, size: float) -> Grey:
    """Returns the ink of a scrawl that looks written: loops along a line."""
    width, height = round(size * rng.uniform(3, 12)), round(2 * size)
    points, steps = [], rng.randint(20, 70)
    turn, high = rng.uniform(0.7, 1.6), rng.uniform(0.2, 0.45)
    for step in range(steps):
        x = width * (0.05 + 0.9 * step / steps) + 0.25 * size * math.sin(turn * step)
        y = height * 0.55 - high * size * math.sin(1.7 * turn * step) * rng.uniform(0.3, 1.3)
        points.append((x, y))
    image = Image.new("L", (width, height), 0)
    ImageDraw.Draw(image).line(points, 255, max(1, round(size / 14)), joint="curve")
    return np.asarray(image)


def draw_line(pixels: Grey, points: Sequence[Point], width_px: int, strength: float, shade: int) -> None:
    """Draws a line through points, as far as it lies on the page. pixels: [H, W] grey, changed."""
    xs, ys = zip(*points, strict=True)
    x0, y0 = max(0, int(min(xs)) - width_px), max(0, int(min(ys)) - width_px)
    x1, y1 = (
        min(pixels.shape[1], int(max(xs)) + width_px + 2),
        min(pixels.shape[0], int(max(ys)) + width_px + 2),
    )
    if x1 <= x0 or y1 <= y0:
        return
    image = Image.new("L", (x1 - x0, y1 - y0), 0)
    ImageDraw.Draw(image).line([(x - x0, y - y0) for x, y in points], 255, width_px, joint="curve")
    lay(pixels, np.asarray(image), x0, y0, strength, shade)


def lay(pixels: Grey, ink: Grey, x: int, y: int, strength: float, shade: int = 0) -> None:
    """Lays ink over a page, which shows through it. pixels: [H, W] grey, changed; the ink lies within them."""
    spot = pixels[y : y + ink.shape[0], x : x + ink.shape[1]]
    cover = ink.astype(np.float32) * (strength / 255)
    spot[:] = np.minimum(spot, (spot * (1 - cover) + shade * cover)).astype(np.uint8)
