"""Pages of dots, strokes and noise: there is something on them, but no writing."""

import random
from collections.abc import Iterator

import numpy as np
from PIL import Image, ImageDraw

from tests.faults.statuses.pages import WEAR, MadePage, Workshop, pictured

_NO_WRITING = frozenset({"doubtful", "blank"})


def patterns(_: Workshop) -> Iterator[MadePage]:
    """Yields each pattern as it is and worn."""
    for make in (dot_grid, dot_rows, speckles, halftone, hatching):
        for number, (wear, worn) in enumerate(WEAR.items()):
            rng = random.Random(f"{make.__name__} {wear}")
            page = worn(make(rng), number)
            yield pictured(f"{make.__name__}-{wear}", page, statuses=_NO_WRITING)


def dot_grid(rng: random.Random) -> Image.Image:
    """Draws evenly spaced dots, as on paper for bullet journals or in a halftone picture."""
    pitch, radius = rng.choice((12, 18, 26)), rng.choice((2, 3, 4))
    page = Image.new("L", (1240, 1754), 255)
    draw = ImageDraw.Draw(page)
    for y in range(pitch, page.height, pitch):
        for x in range(pitch, page.width, pitch):
            draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=20)
    return page


def dot_rows(rng: random.Random) -> Image.Image:
    """Draws rows of dots with gaps, in the rhythm of writing."""
    page = Image.new("L", (1240, 1754), 255)
    draw = ImageDraw.Draw(page)
    for y in range(80, page.height - 80, 34):
        x = 80
        while x < page.width - 80:
            for _ in range(rng.randint(2, 9)):
                draw.ellipse((x, y, x + 9, y + 9), fill=10)
                x += 15
            x += 18
    return page


def speckles(rng: random.Random) -> Image.Image:
    """Draws dirt of the size of parts of letters all over a sheet."""
    noise = np.random.default_rng(rng.randrange(1 << 30))
    page = np.full((1754, 1240), 245, np.uint8)
    for _ in range(9000):
        y, x = noise.integers(0, page.shape[0] - 6), noise.integers(0, page.shape[1] - 6)
        height, width = noise.integers(1, 6, 2)
        page[y : y + height, x : x + width] = noise.integers(0, 90)
    return Image.fromarray(page)


def halftone(rng: random.Random) -> Image.Image:
    """Draws a grey wedge as a printer dithers it."""
    wedge = np.tile(np.linspace(30, 225, 1240, dtype=np.uint8), (1100, 1))
    return Image.fromarray(wedge).convert("1").convert("L").resize((1240, 1100), rng.choice((0, 2)))


def hatching(rng: random.Random) -> Image.Image:
    """Draws short strokes in rows, as on a map."""
    page = Image.new("L", (1240, 1100), 255)
    draw = ImageDraw.Draw(page)
    for y in range(60, page.height - 60, 30):
        for x in range(60, page.width - 60, 13):
            lean = rng.randint(-6, 6)
            draw.line((x, y, x + lean, y + rng.randint(12, 20)), fill=20, width=3)
    return page
