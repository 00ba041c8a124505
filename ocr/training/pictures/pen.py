"""A pen on a picture: random shades, lines, boxes and curves for the drawings without letters."""

import math
import random
from dataclasses import dataclass

from PIL import ImageDraw

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
