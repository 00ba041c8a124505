"""Draws pictures without letters: diagrams, codes, scribbles, staves and ornaments."""

import math
import random
from collections.abc import Callable

from PIL import Image, ImageDraw

from ocr.training.pictures.diagrams import bars, chart_map, circuit, flow, graph, pie, plan, plot
from ocr.training.pictures.pen import Colour, Pen, curve


def barcode(pen: Pen) -> None:
    """Draws upright bars of four widths."""
    module, x = pen.unit * pen.rng.randint(1, 3), 0.06 * pen.width
    ink = pen.shade(0, 40)
    while x < 0.94 * pen.width:
        wide = module * pen.rng.randint(1, 4)
        pen.draw.rectangle((x, 0.08 * pen.height, x + wide - 1, 0.92 * pen.height), ink)
        x += wide + module * pen.rng.randint(1, 4)


def matrix_code(pen: Pen) -> None:
    """Draws a square code with three finder marks."""
    cells = pen.rng.randint(17, 45)
    size = int(0.92 * min(pen.width, pen.height)) // cells
    if size < 1:
        return
    ink = pen.shade(0, 40)

    def block(column: int, row: int, wide: int, fill: Colour) -> None:
        x, y = (column + 1) * size, (row + 1) * size
        pen.draw.rectangle((x, y, x + wide * size - 1, y + wide * size - 1), fill)

    for row in range(cells):
        bits = pen.rng.getrandbits(cells)
        for column in range(cells):
            if bits >> column & 1:
                block(column, row, 1, ink)
    white: Colour = (255, 255, 255) if pen.coloured else 255
    for column, row in ((0, 0), (cells - 7, 0), (0, cells - 7)):
        for inset, fill in ((0, ink), (1, white), (2, ink)):
            block(column + inset, row + inset, 7 - 2 * inset, fill)


def scribble(pen: Pen) -> None:
    """Draws loose strokes, as when somebody tries a pen."""
    ink, line = pen.shade(0, 120), pen.line_px()
    start = pen.point(0.2)
    for _ in range(pen.rng.randint(3, 14)):
        end = pen.point(0.1)
        pen.draw.line(curve(pen.rng, start, end, pen.rng.uniform(0.2, 1.2)), ink, line, joint="curve")
        start = end if pen.rng.random() < 0.8 else pen.point(0.2)


def signature(pen: Pen) -> None:
    """Draws one flourish of loops from left to right."""
    turns, speed = pen.rng.randint(3, 9), pen.rng.uniform(0.8, 1.4)
    phase, points = pen.rng.random() * 6, []
    for step in range(160):
        t = step / 160
        high = math.sin(math.pi * min(1, t * 1.15)) * pen.rng.uniform(0.9, 1.02)
        x = 0.08 + 0.82 * t + 0.05 * math.sin(2 * math.pi * turns * t + phase)
        y = 0.5 + 0.32 * high * math.sin(2 * math.pi * turns * speed * t) * math.cos(5 * t + phase)
        points.append((x * pen.width, y * pen.height))
    pen.draw.line(points, pen.shade(0, 90), pen.line_px(), joint="curve")


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


def rays(pen: Pen) -> None:
    """Draws lines through a point or circles around it."""
    x, y = pen.point(0.3)
    ink, line = pen.ink(), pen.line_px()
    reach = max(pen.width, pen.height)
    if pen.rng.random() < 0.5:
        count = pen.rng.randint(8, 60)
        for number in range(count):
            angle = 2 * math.pi * number / count
            end = (x + reach * math.cos(angle), y + reach * math.sin(angle))
            pen.draw.line([(x, y), end], ink, line)
    else:
        for ring in range(1, pen.rng.randint(4, 24)):
            size = ring * reach / 40 * 1.6
            pen.draw.ellipse((x - size, y - size, x + size, y + size), None, ink, line)


DRAWINGS: tuple[Callable[[Pen], None], ...] = (
    bars, pie, plot, flow, graph, circuit, chart_map, barcode, matrix_code, scribble, signature, staves, logo, rays,
    plan,
)  # fmt: skip


def drawing(
    rng: random.Random, width_px: int, height_px: int, *, coloured: bool, fine: int = 1
) -> Image.Image:
    """Returns an image (RGB or L) of one drawing on light ground, drawn `fine` times larger and scaled down."""
    size = (fine * width_px, fine * height_px)
    ground = 255 if rng.random() < 0.8 else rng.randint(205, 255)
    image = Image.new("RGB" if coloured else "L", size, (ground,) * 3 if coloured else ground)
    unit = fine * max(1, round(min(width_px, height_px) / rng.uniform(250, 600)))
    pen = Pen(
        rng=rng, draw=ImageDraw.Draw(image), width=size[0], height=size[1], unit=unit, coloured=coloured
    )
    rng.choice(DRAWINGS)(pen)
    return image.reduce(fine) if fine > 1 else image
