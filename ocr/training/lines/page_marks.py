"""Marks on print: handwriting, rubber stamps, strokes, ticks, rules of dashes. None of them is text to read."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from ocr.training.lines.page_lines import SIZES_PX, Floats, Place, table
from ocr.training.lines.pen_strokes import SHADES, curve, dashed, lay, scribble, stroke
from ocr.training.lines.scan_pages import Scans

Grey = npt.NDArray[np.uint8]
Text = Callable[[random.Random], str]
_TRIES = 10  # places looked at for what must stand beside print
_LEVEL_DEG = 3.5  # handwriting turned further is not cut as a line


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A mark. ink: [H, W] uint8, 0 is none. baseline, size: of its writing, in its pixels; size 0: it is no line."""

    ink: Grey
    baseline: float = 0.0
    size: float = 0.0
    degrees: float = 0.0


class Marks:
    """Draws marks. hands: folder of typefaces of handwriting. faces: typefaces of stamps. scans: real handwriting."""

    def __init__(self, hands: Path, faces: Sequence[Path], scans: Scans) -> None:
        self._hands, self._faces, self._scans = sorted(hands.glob("*.ttf")), list(faces), scans

    def draw(
        self, rng: random.Random, pixels: Grey, places: Floats, text: Text, size: float
    ) -> tuple[list[Place], list[Place]]:
        """Draws some marks; returns writing and dashes beside print, and stamps so level that they may be text.

        pixels: [H, W] grey, changed. places: [N, 5] its lines. text: words to write. size: the usual type size.
        """
        written: list[Place] = []
        stamped: list[Place] = []
        kinds = ("note", "pen", "stamp", "dashes")
        for kind in rng.choices(kinds, (4, 4, 2, 3), k=rng.choice((1, 2, 2, 3, 4))):
            if kind in ("note", "dashes"):
                for _ in range(rng.choice((1, 1, 2, 3, 5))):
                    made = self.hand(rng, text, size) if kind == "note" else self.dashes(rng, size)
                    taken = np.concatenate([places, table(written)])
                    free = made.size > 0 if kind == "dashes" else rng.random() < 0.85
                    place = self._beside(rng, pixels, taken, made, free)
                    written += [place] if place else []
            elif kind == "pen":
                for _ in range(rng.choice((1, 2, 4, 8))):
                    stroke(rng, pixels, places, size)
            else:
                made = self.stamp(rng, text(rng), size)
                place = self._beside(rng, pixels, places, made, rng.random() < 0.5, rng.uniform(0.25, 0.75))
                stamped += [place] if place and abs(made.degrees) < _LEVEL_DEG else []
        return written, stamped

    def hand(self, rng: random.Random, text: Text, size: float) -> Made:
        """Returns a line of handwriting: half of it real where there is some, else typeset and perhaps underlined."""
        real = self._scans.handwriting(rng) if rng.random() < 0.5 else None
        if real is not None and min(real[0].shape) > 8:
            ink, baseline, own = real
            scale = size * math.exp(rng.uniform(-0.4, 0.7)) / own
            shape = max(1, round(ink.shape[1] * scale)), max(1, round(ink.shape[0] * scale))
            return turned(
                Image.fromarray(ink).resize(shape, Image.Resampling.BILINEAR),
                rng.gauss(0, 2),
                baseline * scale,
                own * scale,
            )
        if not self._hands:
            return Made(ink=scribble(rng, size))
        words = text(rng).split()[: rng.choice((1, 1, 2, 3, 6))] or ["x"]
        em = size * math.exp(rng.uniform(0.1, 1.1))
        image, baseline = _set(_face(rng.choice(self._hands), round(em)), " ".join(words))
        if rng.random() < 0.3:
            y = min(image.height - 3.0, baseline + 0.2 * em)
            line = curve(rng, (0, y), (image.width * rng.uniform(0.6, 1.0), y), 0.04)
            ImageDraw.Draw(image).line(line, 255, max(1, round(em / 22)))
        return turned(image, rng.gauss(0, 4), baseline, 0.7 * em)

    def stamp(self, rng: random.Random, text: str, size: float) -> Made:
        """Returns a rubber stamp's print: words in a frame, a ring or bare, its ink uneven."""
        words = [word.upper() if rng.random() < 0.6 else word for word in text.split()[:7]] or ["O"]
        em = size * rng.uniform(0.7, 2.0)
        rows = [" ".join(words[i : i + 2]) for i in range(0, len(words), 2)]
        face = _face(rng.choice(self._faces), round(em)) if self._faces else ImageFont.load_default(round(em))
        sets = [_set(face, row)[0] for row in rows]
        width = max(row.width for row in sets) + 2 * round(em)
        height = sum(row.height for row in sets) + 2 * round(0.8 * em)
        frame, thick = rng.choice(("box", "box", "ring", "none")), max(2, round(em / 9))
        if frame == "ring":
            height = max(height, round(0.7 * width))
        image = Image.new("L", (width, height), 0)
        draw = ImageDraw.Draw(image)
        if frame == "box":
            draw.rounded_rectangle(
                (1, 1, width - 2, height - 2), rng.choice((0, em / 2)), outline=255, width=thick
            )
        elif frame == "ring":
            draw.ellipse((1, 1, width - 2, height - 2), outline=255, width=thick)
        top = (height - sum(row.height for row in sets)) // 2
        for row in sets:
            image.paste(row, ((width - row.width) // 2, top))
            top += row.height
        noise = np.random.default_rng(rng.getrandbits(32))
        blotches = Image.fromarray(noise.integers(60, 256, (6, 9), np.uint8)).resize(
            image.size, Image.Resampling.BICUBIC
        )
        grain = noise.integers(140, 256, (height, width), np.uint16)
        uneven = np.asarray(image, np.uint32) * np.asarray(blotches, np.uint32) * grain >> 16
        return turned(Image.fromarray(uneven.astype(np.uint8)), rng.gauss(0, 12), height / 2, em)

    def dashes(self, rng: random.Random, size: float) -> Made:
        """Returns a frame of dashes, or a rule as finders take it for a line: of smaller type, near its baseline."""
        own = max(SIZES_PX[0], size * rng.uniform(0.3, 0.65))
        high = size * rng.choice((0, 0, rng.uniform(1.5, 9)))
        ink = dashed(rng, round(own * math.exp(rng.uniform(0.3, 4))), round(high), size)
        if high:
            return Made(ink=ink)
        baseline = 2 + len(ink) / 2 + own * rng.uniform(0.1, 0.32)
        return Made(ink=np.pad(ink, ((2, 2), (0, 0))), baseline=baseline, size=own)

    def _beside(
        self, rng: random.Random, pixels: Grey, places: Floats, made: Made, free: bool, strength: float = 0.0
    ) -> Place | None:
        """Draws a mark, where it must be free where no line is; returns its place as a line, None if it is none."""
        height, width = made.ink.shape
        room = pixels.shape[1] - width, pixels.shape[0] - height
        if min(room) < 2 or min(made.ink.shape) < 4:
            return None
        for _ in range(_TRIES if free else 1):
            x, y = rng.randint(0, room[0]), rng.randint(0, room[1])
            alone = not overlaps(places, x, y, x + width, y + height)
            if alone or not free:
                lay(pixels, made.ink, x, y, strength or rng.uniform(0.5, 1.0), rng.choice(SHADES))
                level = made.size and abs(made.degrees) < _LEVEL_DEG
                return _line(made, x, y) if alone and level else None
        return None


def turned(image: Image.Image, degrees: float, baseline: float, size: float) -> Made:
    """Returns a mark, turned about its middle."""
    made = image.rotate(degrees, Image.Resampling.BILINEAR, expand=True) if abs(degrees) > 0.3 else image
    middle = (made.height - image.height) / 2 + baseline
    return Made(ink=np.asarray(made), baseline=middle, size=size, degrees=degrees)


def overlaps(places: Floats, x0: float, y0: float, x1: float, y1: float) -> bool:
    """Returns whether a line of print lies in a box."""
    if not len(places):
        return False
    left, right, baseline, slope, size = places.T
    end = baseline + slope * (right - left)
    top, bottom = np.minimum(baseline, end) - size, np.maximum(baseline, end) + 0.35 * size
    return bool(((left < x1) & (right > x0) & (top < y1) & (bottom > y0)).any())


def _line(made: Made, x: int, y: int) -> Place:
    slope = -math.tan(math.radians(made.degrees))
    width = made.ink.shape[1]
    return Place(x, x + width, y + made.baseline - slope * width / 2, slope, made.size)


def _set(face: ImageFont.FreeTypeFont | ImageFont.ImageFont, text: str) -> tuple[Image.Image, float]:
    """Returns the ink of words, with room around it, and the height of their baseline in it."""
    assert isinstance(face, ImageFont.FreeTypeFont)
    left, top, right, bottom = face.getbbox(text, anchor="ls")
    pad = 4
    image = Image.new("L", (max(1, round(right - left)) + 2 * pad, max(1, round(bottom - top)) + 2 * pad), 0)
    ImageDraw.Draw(image).text((pad - left, pad - top), text, 255, font=face, anchor="ls")
    return image, pad - top


@lru_cache(64)
def _face(file: Path, size_px: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(file), max(6, size_px))
