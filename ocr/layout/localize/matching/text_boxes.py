"""Finds a box for every text, from where the character head sees its characters.

The decoded text is right but has no places; the cells have places but no order. Both hold the same characters:
stretches of the text are found among the cells, the likeliest chain of them is kept, and a text's box is drawn
around its sections, cut to the ink.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from ocr.layout.localize.matching.canvas import CELL_HEIGHT_PX, CELL_WIDTH_PX, Box, Canvas
from ocr.layout.localize.matching.chain import best_chain
from ocr.layout.localize.matching.leftovers import with_leftovers
from ocr.layout.localize.matching.line_ink import band
from ocr.layout.localize.matching.line_sections import LineSection, sections
from ocr.layout.localize.matching.marks import SeenMarks, WrittenMarks, seen_marks, written_marks
from ocr.layout.localize.matching.strays import without_strays
from ocr.layout.localize.matching.stretches import stretches


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of a text. box_px: x0, y0, x1, y1 on the page, None where it was not found.

    share: the share of its marks that were found there.
    """

    box_px: tuple[int, int, int, int] | None
    share: float


def place(
    texts: Sequence[str],
    cells_HW: npt.NDArray[np.int16],
    characters: str,
    canvas: Canvas,
    wanted: Container[int] | None = None,
) -> list[Place]:
    """Returns the place of each text, in order. texts: as printed on the page, in reading order.

    cells_HW: [H/16, W/4] of the canvas; characters: see ocr.character_head.second_opinion.read_cells. wanted: the
    numbers of the texts to place, None for all; the others get no place.
    """
    written, _, placed = located(texts, cells_HW, characters)
    out = [Place(box_px=None, share=0.0)] * len(texts)
    counts = np.bincount(written.text, minlength=len(texts)).tolist()
    for number, group in groupby(placed, key=lambda section: section.text):
        if wanted is not None and number not in wanted:
            continue
        own = without_strays(list(group), placed)
        letters = [written.letters[section.start : section.end] for section in own]
        box = _box(own, letters, canvas)
        share = sum(section.score for section in own) / counts[number]
        out[number] = Place(box_px=canvas.to_page(box), share=min(1.0, share))
    return out


def located(
    texts: Sequence[str], cells_HW: npt.NDArray[np.int16], characters: str
) -> tuple[WrittenMarks, SeenMarks, list[LineSection]]:
    """Returns the marks of the texts, those of the page, and the sections of lines in which both are the same."""
    written, seen = written_marks(texts, characters), seen_marks(cells_HW, characters)
    found = stretches(written, seen)
    chosen = found.take(best_chain(found))
    return written, seen, with_leftovers(sections(chosen, written, seen, cells_HW), written, seen)


def _box(own: Sequence[LineSection], letters: Sequence[str], canvas: Canvas) -> Box:
    """Returns the box around the sections of a text on the canvas; only the outermost lines decide its height."""
    y0, y1 = min(section.y0 for section in own), max(section.y1 for section in own)
    tops, bottoms = [y1 * CELL_HEIGHT_PX + 0.0], [y0 * CELL_HEIGHT_PX + 0.0]
    for section, text in zip(own, letters, strict=True):
        if section.y0 <= y0 + 1 or section.y1 >= y1 - 1:
            cells = (section.x0, section.y0, section.x1, section.y1)
            top, bottom = band(canvas.grey, cells, text) or (
                section.y0 * CELL_HEIGHT_PX,
                section.y1 * CELL_HEIGHT_PX,
            )
            tops.append(top)
            bottoms.append(bottom)
    x0, x1 = min(section.x0 for section in own), max(section.x1 for section in own)
    return x0 * CELL_WIDTH_PX, min(tops), x1 * CELL_WIDTH_PX, max(bottoms)
