"""Draws pictures without letters: charts, codes, staves, shapes. Real pages bring the rest."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image, ImageDraw

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pen:
    """Draws on a grey image of `width` x `height` px; `unit` is a thin line's width in px."""

    rng: random.Random
    draw: ImageDraw.ImageDraw
    width: int
    height: int
    unit: int

    def shade(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    def ink(self) -> int:
        return self.shade(0, 90)

    def line_px(self) -> int:
        return self.unit * self.rng.choice([1, 1, 1, 2, 2, 3])

    def box(self, share: float) -> tuple[float, float, float, float]:
        """Returns a box of about `share` of the width and height."""
        width, height = (self.rng.uniform(0.4, 1) * share * side for side in (self.width, self.height))
        x = self.rng.uniform(0, self.width - width - 1)
        y = self.rng.uniform(0, self.height - height - 1)
        return x, y, x + width, y + height


def _arrow(pen: Pen, start: Point, end: Point, ink: int, width: int) -> None:
    pen.draw.line([start, end], ink, width)
    angle, size = math.atan2(end[1] - start[1], end[0] - start[0]), (6 + 2 * width) * 1.0
    wings = [
        (end[0] - size * math.cos(angle + turn), end[1] - size * math.sin(angle + turn))
        for turn in (-0.4, 0.4)
    ]
    pen.draw.polygon([end, *wings], ink)


def bars(pen: Pen) -> None:
    """Draws a bar chart, upright or lying, without labels."""
    count, ink = pen.rng.randint(3, 14), pen.ink()
    left, base, top = 0.08 * pen.width, 0.93 * pen.height, 0.06 * pen.height
    step = 0.88 * pen.width / count
    fills = [pen.shade(40, 220) for _ in range(pen.rng.randint(1, 3))]
    if pen.rng.random() < 0.5:
        for row in range(1, 6):
            y = base - row * (base - top) / 5
            pen.draw.line([(left, y), (0.97 * pen.width, y)], pen.shade(150, 220), pen.unit)
    for index in range(count):
        x, height = left + (index + 0.15) * step, pen.rng.uniform(0.05, 1) * (base - top)
        part = 0.7 * step / len(fills)
        for number, fill in enumerate(fills):
            y = base - height * pen.rng.uniform(0.5, 1)
            pen.draw.rectangle((x + number * part, y, x + (number + 1) * part, base), fill, ink)
    pen.draw.line([(left, top), (left, base), (0.97 * pen.width, base)], ink, pen.line_px())


def plot(pen: Pen) -> None:
    """Draws axes with curves or points."""
    ink, left, base = pen.ink(), 0.08 * pen.width, 0.92 * pen.height
    pen.draw.line([(left, 0.04 * pen.height), (left, base), (0.97 * pen.width, base)], ink, pen.line_px())
    for tick in range(1, pen.rng.randint(3, 14)):
        x = left + tick * 0.06 * pen.width
        pen.draw.line([(x, base), (x, base + 4 * pen.unit)], ink, pen.unit)
    for _ in range(pen.rng.randint(1, 5)):
        middle, swing, speed = pen.rng.uniform(0.3, 0.7), pen.rng.uniform(0, 0.28), pen.rng.uniform(1, 14)
        rough = pen.rng.choice([0.0, 0.0, 0.05])
        points = [
            (
                left + step / 60 * 0.87 * pen.width,
                pen.height
                * (middle + swing * math.sin(speed * step / 60 + middle * 9) + pen.rng.gauss(0, rough)),
            )
            for step in range(61)
        ]
        colour = pen.shade(0, 150)
        if pen.rng.random() < 0.25:
            size = pen.unit * pen.rng.uniform(1.5, 4)
            for x, y in points:
                pen.draw.ellipse((x - size, y - size, x + size, y + size), colour)
        else:
            pen.draw.line(points, colour, pen.line_px(), joint="curve")


def flow(pen: Pen) -> None:
    """Draws boxes, ovals and diamonds joined by arrows."""
    columns, rows, ink = pen.rng.randint(2, 5), pen.rng.randint(2, 5), pen.ink()
    width, height, line = pen.width / columns, pen.height / rows, pen.line_px()
    filled = pen.rng.random() < 0.4
    for row in range(rows):
        for column in range(columns):
            if pen.rng.random() < 0.25:
                continue
            x, y = (column + 0.5) * width, (row + 0.5) * height
            w, h = width * pen.rng.uniform(0.2, 0.36), height * pen.rng.uniform(0.15, 0.32)
            if column + 1 < columns and pen.rng.random() < 0.7:
                _arrow(pen, (x + w, y), (x + 0.68 * width, y), ink, line)
            if row + 1 < rows and pen.rng.random() < 0.7:
                _arrow(pen, (x, y + h), (x, y + 0.7 * height), ink, line)
            fill = pen.shade(170, 250) if filled else None
            kind = pen.rng.choice(["box", "box", "round", "diamond", "ellipse"])
            if kind == "diamond":
                pen.draw.polygon([(x - w, y), (x, y - h), (x + w, y), (x, y + h)], fill, ink, line)
            elif kind == "ellipse":
                pen.draw.ellipse((x - w, y - h, x + w, y + h), fill, ink, line)
            else:
                pen.draw.rounded_rectangle(
                    (x - w, y - h, x + w, y + h), min(w, h) / 3 if kind == "round" else 0, fill, ink, line
                )


def barcode(pen: Pen) -> None:
    """Draws upright bars of four widths."""
    module, x = pen.unit * pen.rng.randint(1, 3), 0.06 * pen.width
    ink = pen.shade(0, 40)
    while x < 0.94 * pen.width:
        wide = module * pen.rng.randint(1, 4)
        pen.draw.rectangle((x, 0.08 * pen.height, x + wide - 1, 0.92 * pen.height), ink)
        x += wide + module * pen.rng.randint(1, 4)


def staves(pen: Pen) -> None:
    """Draws five-line staves with bars and, mostly, note-like heads."""
    gap, ink = max(4, pen.height // pen.rng.randint(24, 90)), pen.shade(0, 60)
    notes, y = pen.rng.random() < 0.7, 2 * gap
    while y + 6 * gap < pen.height:
        left, right = 0.04 * pen.width, 0.96 * pen.width
        for row in range(5):
            pen.draw.line([(left, y + row * gap), (right, y + row * gap)], ink, pen.unit)
        for bar in range(pen.rng.randint(2, 6) + 1):
            x = left + bar * (right - left) / 6
            pen.draw.line([(x, y), (x, y + 4 * gap)], ink, pen.unit)
        x = left + 3 * gap
        while notes and x < right - 3 * gap:
            head = y + pen.rng.randint(-1, 9) * gap / 2
            pen.draw.ellipse((x - 0.65 * gap, head - gap / 2, x + 0.65 * gap, head + gap / 2), ink)
            pen.draw.line([(x + 0.6 * gap, head), (x + 0.6 * gap, head - 3.2 * gap)], ink, pen.unit)
            x += pen.rng.uniform(2, 7) * gap
        y += int(pen.rng.uniform(7, 12) * gap)


def logo(pen: Pen) -> None:
    """Draws a few large shapes on top of one another."""
    for _ in range(pen.rng.randint(2, 6)):
        box, fill = pen.box(0.9), pen.shade(0, 240)
        kind = pen.rng.choice(["ellipse", "box", "polygon", "arc", "star"])
        if kind == "ellipse":
            pen.draw.ellipse(box, fill)
        elif kind == "box":
            pen.draw.rounded_rectangle(box, pen.rng.uniform(0, 0.2) * pen.width, fill)
        elif kind == "arc":
            wide = max(2, int(0.08 * pen.width))
            pen.draw.arc(box, pen.rng.uniform(0, 360), pen.rng.uniform(360, 700), fill, wide)
        else:
            x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
            radius, spikes = (box[2] - box[0]) / 2, pen.rng.randint(3, 9)
            dent = pen.rng.uniform(0.3, 0.8) if kind == "star" else 1.0
            pen.draw.polygon(
                [
                    (
                        x + radius * (dent if k % 2 else 1) * math.sin(k * math.pi / spikes),
                        y - radius * (dent if k % 2 else 1) * math.cos(k * math.pi / spikes),
                    )
                    for k in range(2 * spikes)
                ],
                fill,
            )


DRAWINGS: tuple[Callable[[Pen], None], ...] = (bars, plot, flow, barcode, staves, logo)


def drawing(rng: random.Random, width_px: int, height_px: int, *, fine: int = 1) -> Image.Image:
    """Returns a grey image of one drawing on light ground, drawn `fine` times larger and scaled down."""
    size = (fine * width_px, fine * height_px)
    image = Image.new("L", size, 255 if rng.random() < 0.8 else rng.randint(205, 255))
    unit = fine * max(1, round(min(width_px, height_px) / rng.uniform(250, 600)))
    pen = Pen(rng=rng, draw=ImageDraw.Draw(image), width=size[0], height=size[1], unit=unit)
    rng.choice(DRAWINGS)(pen)
    return image.reduce(fine) if fine > 1 else image
