"""Draws pages on canvases, with the places and texts of their lines."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pymupdf

from ocr.training.lines.page_lines import HEIGHT_PX, WIDTH_PX, DrawnPage, Place, is_whole, lines_of, table
from ocr.training.lines.page_marks import Marks
from ocr.training.lines.scan_pages import Scans
from ocr.training.lines.typewriter import is_typed, wear_type
from ocr.training.pages.compose import composed, small
from ocr.training.pages.page_source import USELESS_DRAW, PageSource
from ocr.training.pages.page_truth import Sheet, extract, transform

_SMALL = 0.2  # share of composed pages that are a small sheet in large type
_BEYOND = (255, 255, 127)  # greys of a canvas where the page ends: white twice as often
# Scans at these dpi; half of the pages at the usual one. The usual type of a page is no smaller or larger than this.
_DPI, _USUAL_DPI, _TYPE_PX = (100, 300), 200, (13, 60)
_LARGEST_SCALE = 6.0  # pixels a point
_MARKED, _MARKED_SCANS = 0.35, 0.2  # shares of pages that somebody wrote on
_TYPED = 0.7  # share of pages in type of one width that a worn typewriter wrote
_HANDS = 0.15  # share of scans that are handwritten
_NOTHING = (4, 16)  # lines in which nothing is to be read, on a page without text
_NOTHING_PX = (14, 60)  # their type sizes


class LinePages:
    """Draws pages without end. sources: the corpus's split. split: share of lines that end at wide white."""

    def __init__(self, folder: Path, *, sources: str, split: float) -> None:
        self.source = PageSource(folder, sources)
        self.scans = Scans(folder / "scans", sources)
        faces = [
            folder / "fonts" / family.styles.get("bold", family.styles["regular"])
            for family in self.source.fonts.families
            if family.kind in ("sans", "serif", "mono")
        ]
        self.marks = Marks(folder / "hands", faces, self.scans)
        self.split = split

    def draw(self, rng: random.Random, real: float, scans: float = 0.0) -> DrawnPage | None:
        """Returns a page with lines, or None if this draw gave none.

        real, scans: shares of pages from documents, and of real scans where there are some.
        """
        try:
            if self.scans.printed and rng.random() < scans:
                drawn = self.scans.draw(rng, _HANDS)
                if drawn and rng.random() < _MARKED_SCANS:
                    return self._marked(rng, drawn, WIDTH_PX, HEIGHT_PX)
                return drawn
            if self.source.documents and rng.random() < real:
                with self.source.real(rng) as sheet:
                    return self._drawn(rng, sheet)
            if rng.random() < _SMALL:
                return self._drawn(rng, small(rng, self.source))
            return self._drawn(rng, composed(rng, self.source))
        except USELESS_DRAW:
            return None

    def empty(self, rng: random.Random) -> DrawnPage | None:
        """Returns a page with pictures, perhaps with handwriting, and no text, or None if this draw gave none."""
        try:
            pixels = np.array(self.source.pictures.page(rng, WIDTH_PX, HEIGHT_PX))
        except USELESS_DRAW:
            return None
        nothing = [_anywhere(rng) for _ in range(rng.randint(*_NOTHING))]
        page = DrawnPage(
            pixels=pixels,
            places=table([]),
            texts=(),
            others=table([]),
            read_only=table(nothing),
            read_texts=("",) * len(nothing),
        )
        return self._marked(rng, page, WIDTH_PX, HEIGHT_PX) if rng.random() < _MARKED else page

    def _marked(self, rng: random.Random, page: DrawnPage, width: int, height: int) -> DrawnPage:
        """Returns a page that somebody wrote on, stamped or struck out. width, height: of the page on its canvas."""
        pixels = page.pixels if page.pixels.flags.writeable else page.pixels.copy()
        size = float(np.median(page.places[:, 4])) if len(page.places) else rng.uniform(*_NOTHING_PX)
        lines = np.concatenate([page.places, page.others, page.read_only])
        written, stamped = self.marks.draw(rng, pixels[:height, :width], lines, self._words, size)
        written = [place for place in written if is_whole(place, width, height)]
        return replace(
            page,
            pixels=pixels,
            others=np.concatenate([page.others, table(stamped)]),
            read_only=np.concatenate([page.read_only, table(written)]),
            read_texts=(*page.read_texts, *("" for _ in written)),
        )

    def _words(self, rng: random.Random) -> str:
        source = self.source.text
        return source.phrase(rng, source.category(rng), rng.choice((1, 2, 2, 3, 4, 6)))

    def _drawn(self, rng: random.Random, sheet: Sheet) -> DrawnPage | None:
        """Returns what a canvas shows of a sheet: all of it, or a window. None where no line is whole."""
        glyphs = extract(sheet)
        if not glyphs.text.strip():
            return None
        scale = _scale(rng, float(np.nanmedian(glyphs.box_pt[:, 3] - glyphs.box_pt[:, 1])) / 0.72)
        inner = round(sheet.width_pt * scale), round(sheet.height_pt * scale)
        matrix = _camera(rng, sheet.width_pt, sheet.height_pt, inner)
        left = rng.randint(0, max(0, inner[0] - WIDTH_PX))
        top = rng.randint(0, max(0, inner[1] - HEIGHT_PX))
        matrix *= pymupdf.Matrix(1, 0, 0, 1, -left, -top)
        width, height = min(WIDTH_PX, inner[0] - left), min(HEIGHT_PX, inner[1] - top)
        pixels = np.full((HEIGHT_PX, WIDTH_PX), rng.choice(_BEYOND), np.uint8)
        _paint(pixels[:height, :width], sheet, matrix, pymupdf.IRect(0, 0, width, height))
        box_px = transform(glyphs, matrix)
        if rng.random() < _TYPED and is_typed(glyphs.text, box_px):
            wear_type(rng, pixels[:height, :width], glyphs.text, box_px)
        whole: list[Place] = []
        others: list[Place] = []
        texts: list[str] = []
        for place, text in lines_of(glyphs, box_px, rng, self.split):
            if is_whole(place, width, height):
                whole.append(place)
                texts.append(text)
            else:
                others.append(place)
        if not texts:
            return None
        page = DrawnPage(pixels=pixels, places=table(whole), texts=tuple(texts), others=table(others))
        return self._marked(rng, page, width, height) if rng.random() < _MARKED else page


def _camera(rng: random.Random, width_pt: float, height_pt: float, inner: tuple[int, int]) -> pymupdf.Matrix:
    """Returns the transform of points to canvas pixels, for half of the pages slightly turned, zoomed and shifted."""
    fit = pymupdf.Matrix(inner[0] / width_pt, inner[1] / height_pt)
    if rng.random() < 0.5:
        return fit
    angle = rng.gauss(0, 0.7)
    zoom = rng.uniform(0.94, 1.02)
    centre = pymupdf.Matrix(1, 0, 0, 1, -width_pt / 2, -height_pt / 2)
    x, y = (side * (0.5 + rng.uniform(-0.015, 0.015)) for side in (width_pt, height_pt))
    turned = centre * pymupdf.Matrix(max(-2.0, min(2.0, angle)))
    zoomed = turned * pymupdf.Matrix(zoom, zoom * rng.uniform(0.97, 1.03))
    return zoomed * pymupdf.Matrix(1, 0, 0, 1, x, y) * fit


def _paint(pixels: npt.NDArray[np.uint8], sheet: Sheet, matrix: pymupdf.Matrix, frame: pymupdf.IRect) -> None:
    """Draws what a frame shows of a page on its white paper. pixels: [H, W] grey, changed; frame: lies in them."""
    drawn = sheet.display.get_pixmap(matrix=matrix, colorspace=pymupdf.csGRAY, alpha=0, clip=frame * ~matrix)
    pixels[frame.y0 : frame.y1, frame.x0 : frame.x1] = 255
    found = np.frombuffer(drawn.samples_mv, np.uint8).reshape(drawn.height, drawn.stride)[:, : drawn.width]
    top, left = max(0, drawn.y), max(0, drawn.x)
    found = found[top - drawn.y : pixels.shape[0] - drawn.y, left - drawn.x : pixels.shape[1] - drawn.x]
    pixels[top : top + found.shape[0], left : left + found.shape[1]] = found


def _scale(rng: random.Random, size_pt: float) -> float:
    """Returns pixels a point, for a page with this usual type size."""
    low, high = np.log(_DPI)
    scale = float(np.exp(rng.uniform(low, high))) / 72
    if rng.random() < 0.5:
        scale = _USUAL_DPI / 72
    return min(max(scale, _TYPE_PX[0] / size_pt), _TYPE_PX[1] / size_pt, _LARGEST_SCALE)


def _anywhere(rng: random.Random) -> Place:
    """Returns a place as a finder may see one where nothing is."""
    size = rng.uniform(*_NOTHING_PX)
    x0, width = rng.uniform(2, 0.7 * WIDTH_PX), size * rng.uniform(1, 16)
    return Place(
        x0, min(x0 + width, WIDTH_PX - 2), rng.uniform(size, HEIGHT_PX - size), rng.gauss(0, 0.01), size
    )
