"""Draws pages on canvases, with the places and texts of their lines."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pymupdf
from tokenizers import Tokenizer

from ocr.training.lines.page_lines import Floats, Place, lines_of
from ocr.training.pages.camera import camera, paint
from ocr.training.pages.truth.page_truth import Sheet, extract, transform
from ocr.training.sampling_pages.samples import USELESS_DRAW, Sampler

WIDTH_PX, HEIGHT_PX = 1536, 2048
_SMALL = 0.2  # share of composed pages that are a small sheet in large type
_BEYOND = (255, 255, 127)  # greys of a canvas where the page ends: white twice as often
# Scans at these dpi; half of the pages at the usual one. The usual type of a page is no smaller or larger than this.
_DPI, _USUAL_DPI, _TYPE_PX = (100, 300), 200, (13, 60)
_LARGEST_SCALE = 6.0  # pixels a point
_SIZES_PX, _LEAST_WIDTH_PX = (9, 400), 2  # lines of other sizes, and narrower ones, are not learned
_ABOVE, _BELOW = 0.75, 0.2  # of the type size: with so much of it on the canvas, a line is whole


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnPage:
    """A page on a canvas of HEIGHT_PX x WIDTH_PX, uint8 grey, white is 255.

    places: [N, 5] the whole lines, as Place has them. texts: theirs. others: [M, 5] lines that the canvas's edge cuts,
    or that are too small or large: neither text to find nor paper.
    """

    pixels: npt.NDArray[np.uint8]
    places: Floats
    texts: tuple[str, ...]
    others: Floats


class LinePages:
    """Draws pages without end. split: share of lines that end at wide white; see Sampler for the other arguments."""

    def __init__(
        self, folder: Path, tokenizer: Tokenizer, characters: str, *, sources: str, split: float
    ) -> None:
        self.sampler = Sampler(folder, tokenizer, characters, split=sources, font_split="train")
        self.split = split

    def draw(self, rng: random.Random, real: float) -> DrawnPage | None:
        """Returns a page with lines, or None if this draw gave none. real: share of pages from documents."""
        self.sampler.look_for_documents()
        try:
            if self.sampler.documents and rng.random() < real:
                return self._real(rng)
            if rng.random() < _SMALL:
                return self._drawn(rng, self.sampler.synthetic_small(rng, "tile", short=False))
            return self._drawn(rng, self.sampler.synthetic_page(rng, "plain"))
        except USELESS_DRAW:
            return None

    def empty(self, rng: random.Random) -> DrawnPage | None:
        """Returns a page with pictures and no text, or None if this draw gave none."""
        try:
            pixels = np.array(self.sampler.pictures.page(rng, WIDTH_PX, HEIGHT_PX))
        except USELESS_DRAW:
            return None
        return DrawnPage(pixels=pixels, places=_table([]), texts=(), others=_table([]))

    def _real(self, rng: random.Random) -> DrawnPage | None:
        file, pages = rng.choice(self.sampler.documents)
        pymupdf.TOOLS.reset_mupdf_warnings()
        with pymupdf.open(file) as document:
            page = document[rng.choice(pages)]
            page.remove_rotation()
            drawn = self._drawn(rng, Sheet.of(page))
        # With a font that cannot be loaded, the page shows other characters than its text layer.
        return None if "broken file" in pymupdf.TOOLS.mupdf_warnings() else drawn

    def _drawn(self, rng: random.Random, sheet: Sheet) -> DrawnPage | None:
        """Returns what a canvas shows of a sheet: all of it, or a window. None where no line is whole."""
        glyphs = extract(sheet)
        if not glyphs.text.strip():
            return None
        scale = _scale(rng, float(np.nanmedian(glyphs.box_pt[:, 3] - glyphs.box_pt[:, 1])) / 0.72)
        inner = round(sheet.width_pt * scale), round(sheet.height_pt * scale)
        matrix = camera(rng, sheet.width_pt, sheet.height_pt, inner)
        left = rng.randint(0, max(0, inner[0] - WIDTH_PX))
        top = rng.randint(0, max(0, inner[1] - HEIGHT_PX))
        matrix *= pymupdf.Matrix(1, 0, 0, 1, -left, -top)
        width, height = min(WIDTH_PX, inner[0] - left), min(HEIGHT_PX, inner[1] - top)
        pixels = np.full((HEIGHT_PX, WIDTH_PX), rng.choice(_BEYOND), np.uint8)
        paint(pixels[:height, :width], sheet, matrix, pymupdf.IRect(0, 0, width, height))
        whole: list[Place] = []
        others: list[Place] = []
        texts: list[str] = []
        for place, text in lines_of(glyphs, transform(glyphs, matrix), rng, self.split):
            if _is_whole(place, width, height):
                whole.append(place)
                texts.append(text)
            else:
                others.append(place)
        if not texts:
            return None
        return DrawnPage(pixels=pixels, places=_table(whole), texts=tuple(texts), others=_table(others))


def _scale(rng: random.Random, size_pt: float) -> float:
    """Returns pixels a point, for a page with this usual type size."""
    low, high = np.log(_DPI)
    scale = float(np.exp(rng.uniform(low, high))) / 72
    if rng.random() < 0.5:
        scale = _USUAL_DPI / 72
    return min(max(scale, _TYPE_PX[0] / size_pt), _TYPE_PX[1] / size_pt, _LARGEST_SCALE)


def _is_whole(place: Place, width: int, height: int) -> bool:
    """Returns whether a line lies within the page's part of the canvas, and is of a size to learn."""
    ends = place.baseline, place.baseline + place.slope * (place.x1 - place.x0)
    inside = place.x0 >= 1 and place.x1 <= width - 1
    inside &= min(ends) - _ABOVE * place.size >= 1 and max(ends) + _BELOW * place.size <= height - 1
    return inside and place.x1 - place.x0 >= _LEAST_WIDTH_PX and _SIZES_PX[0] <= place.size <= _SIZES_PX[1]


def _table(places: Sequence[Place]) -> Floats:
    return np.asarray(places, np.float32).reshape(-1, 5)
