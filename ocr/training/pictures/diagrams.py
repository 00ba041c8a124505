"""Draws charts, flow charts, networks, circuits, maps and plans, all without labels."""

import math

from ocr.training.pictures.pen import Colour, Pen, Point, curve


def _arrow(pen: Pen, start: Point, end: Point, ink: Colour, width: int) -> None:
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


def pie(pen: Pen) -> None:
    """Draws a pie or ring chart."""
    radius = 0.45 * min(pen.width, pen.height)
    x, y = pen.width / 2, pen.height / 2
    box, angle = (x - radius, y - radius, x + radius, y + radius), pen.rng.uniform(0, 360)
    cuts = sorted(pen.rng.uniform(0, 360) for _ in range(pen.rng.randint(2, 8)))
    for start, end in zip(cuts, [*cuts[1:], cuts[0] + 360], strict=True):
        pen.draw.pieslice(box, angle + start, angle + end, pen.shade(20, 240), pen.ink(), pen.unit)
    if pen.rng.random() < 0.3:
        hole = radius * 0.5
        pen.draw.ellipse((x - hole, y - hole, x + hole, y + hole), pen.shade(245, 255), pen.ink())


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


def graph(pen: Pen) -> None:
    """Draws nodes and edges, straight or bent: networks, trees, molecules."""
    points = [pen.point(0.08) for _ in range(pen.rng.randint(4, 24))]
    ink, line, bend = pen.ink(), pen.line_px(), pen.rng.choice([0.0, 0.0, 0.3])
    for _ in range(int(len(points) * pen.rng.uniform(0.8, 1.8))):
        start, end = pen.rng.sample(points, 2)
        pen.draw.line(curve(pen.rng, start, end, bend, 12) if bend else [start, end], ink, line)
    size, fill = pen.unit * pen.rng.uniform(3, 14), pen.shade(100, 255)
    for x, y in points:
        pen.draw.ellipse((x - size, y - size, x + size, y + size), fill, ink, line)


def circuit(pen: Pen) -> None:
    """Draws right-angled wires with junctions, boxes and plates."""
    ink, line, pitch = pen.ink(), pen.line_px(), max(12, min(pen.width, pen.height) // pen.rng.randint(6, 14))
    for _ in range(pen.rng.randint(8, 40)):
        x, y = (pen.rng.randrange(1, max(2, side // pitch)) * pitch for side in (pen.width, pen.height))
        path: list[Point] = [(x, y)]
        for turn in range(pen.rng.randint(1, 5)):
            run = pen.rng.randint(-4, 4) * pitch
            x, y = (x + run, y) if turn % 2 else (x, y + run)
            path.append((x, y))
        pen.draw.line(path, ink, line)
        end = pen.rng.choice(["none", "dot", "box", "plates"])
        if end == "dot":
            pen.draw.ellipse((x - 3 * line, y - 3 * line, x + 3 * line, y + 3 * line), ink)
        elif end == "box":
            pen.draw.rectangle((x - pitch / 2, y - pitch / 4, x + pitch / 2, y + pitch / 4), None, ink, line)
        elif end == "plates":
            pen.draw.line([(x - pitch / 2, y), (x + pitch / 2, y)], ink, 2 * line)


def chart_map(pen: Pen) -> None:
    """Draws outlines of land with borders, rivers and height lines."""
    for _ in range(pen.rng.randint(1, 5)):
        x, y = pen.point(0.2)
        radius, corners = pen.rng.uniform(0.1, 0.45) * min(pen.width, pen.height), 40
        wobble = [pen.rng.uniform(0, 0.25) for _ in range(4)]
        rings = pen.rng.choice([1, 1, 4, 8])
        for ring in range(rings, 0, -1):
            outline = []
            for corner in range(corners):
                angle = corner * 2 * math.pi / corners
                out = 1 + sum(w * math.sin((k + 1) * angle + k * 9 * w) for k, w in enumerate(wobble))
                out *= radius * ring / rings * (1 + pen.rng.gauss(0, 0.03 if rings == 1 else 0))
                outline.append((x + out * math.cos(angle), y + out * math.sin(angle)))
            pen.draw.polygon(outline, pen.shade(170, 250) if rings == 1 else None, pen.ink(), pen.unit)
    for _ in range(pen.rng.randint(1, 6)):
        pen.draw.line(curve(pen.rng, pen.point(), pen.point(), 0.4), pen.shade(40, 200), pen.line_px())


def plan(pen: Pen) -> None:
    """Draws rooms of a floor plan: thick walls, doors as arcs."""
    ink, wall = pen.ink(), 3 * pen.unit
    boxes = [(0.05 * pen.width, 0.05 * pen.height, 0.95 * pen.width, 0.95 * pen.height)]
    pen.draw.rectangle(boxes[0], None, ink, wall)
    for _ in range(pen.rng.randint(2, 7)):
        left, top, right, bottom = boxes.pop(pen.rng.randrange(len(boxes)))
        share = pen.rng.uniform(0.35, 0.65)
        if right - left > bottom - top:
            x = left + share * (right - left)
            pen.draw.line([(x, top), (x, bottom)], ink, wall)
            boxes += [(left, top, x, bottom), (x, top, right, bottom)]
        else:
            y = top + share * (bottom - top)
            pen.draw.line([(left, y), (right, y)], ink, wall)
            boxes += [(left, top, right, y), (left, y, right, bottom)]
    for left, top, right, bottom in boxes:
        door = 0.3 * min(right - left, bottom - top)
        pen.draw.arc((left - door, top - door, left + door, top + door), 0, 90, ink, pen.unit)
