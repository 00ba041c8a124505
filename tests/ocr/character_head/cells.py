"""Pages as a character head without fault would see them."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pymupdf

from ocr.imaging.tiling import TILE_PX, choose_grid
from ocr.training.pages.truth.page_truth import Sheet, cell_map, extract, transform
from ocr.training.tokens import CHARACTERS

Cells = npt.NDArray[np.int16]
_IDS = {character: number + 2 for number, character in enumerate(CHARACTERS)}


def cells_of(page: pymupdf.Page) -> tuple[Cells, str]:
    """A page's cells on its tiles, and its text."""
    columns, rows = choose_grid(round(page.rect.width * 2), round(page.rect.height * 2), 6)
    canvas = TILE_PX * columns, TILE_PX * rows
    glyphs = extract(Sheet.of(page))
    matrix = pymupdf.Matrix(canvas[0] / page.rect.width, canvas[1] / page.rect.height)
    return cell_map(glyphs.text, transform(glyphs, matrix), canvas, _IDS, other=1), glyphs.text


def sample(name: str, page: int = 0) -> tuple[Cells, str]:
    path = Path(__file__).parents[2] / "samples" / name
    with pymupdf.open(path) as document:
        return cells_of(document[page])


def typed(lines: list[str], font: str = "helv", size: float = 11.0) -> tuple[Cells, str]:
    """Lines one below the other on a page."""
    with pymupdf.open() as document:
        page = document.new_page()
        for number, line in enumerate(lines):
            page.insert_text((60, 80 + 1.3 * size * number), line, fontname=font, fontsize=size)
        return cells_of(page)


def drawn(*rows: str) -> Cells:
    """A cell a character; a full stop in the middle is none."""
    return np.array([[0 if mark == "·" else _IDS[mark] for mark in row] for row in rows], np.int16)
