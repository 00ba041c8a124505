"""Finds where the letters of texts stand, as the character head sees them."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ocr.layout.localize.matching.canvas import CELL_HEIGHT_PX, CELL_WIDTH_PX, Box, Canvas
from ocr.layout.localize.matching.line_ink import band
from ocr.layout.localize.matching.text_boxes import located


def letters_on(
    texts: Sequence[str], cells_HW: npt.NDArray[np.int16], characters: str, canvas: Canvas
) -> list[tuple[str, Box]]:
    """Returns the letters of the texts that were found on the page, in the texts' order, with boxes in its pixels.

    Equal letters side by side, which the head sees as one, share its place. Boxes are as high as the line. texts,
    cells_HW, characters: see ocr.layout.localize.matching.text_boxes.place.
    """
    written, seen, sections = located(texts, cells_HW, characters)
    found: list[tuple[str, Box]] = []
    x0s, x1s = seen.x0.tolist(), seen.x1.tolist()
    shares = _shares(texts, written.times.tolist())
    for section in sections:
        if section.seen < 0:
            continue
        text = written.letters[section.start : section.end]
        cells = (section.x0, section.y0, section.x1, section.y1)
        top, bottom = band(canvas.grey, cells, text) or (
            section.y0 * CELL_HEIGHT_PX,
            section.y1 * CELL_HEIGHT_PX,
        )
        for mark, number in enumerate(range(section.seen, section.seen + len(text)), section.start):
            x0, x1 = x0s[number] * CELL_WIDTH_PX, x1s[number] * CELL_WIDTH_PX
            found += [
                (letter, canvas.on_page((x0 + start * (x1 - x0), top, x0 + end * (x1 - x0), bottom)))
                for letter, start, end in shares[mark]
            ]
    return found


def _shares(texts: Sequence[str], times: Sequence[int]) -> list[list[tuple[str, float, float]]]:
    """Returns for each mark the characters it stands for, each with its share of the mark's width, (start, end).

    times: how many characters each mark stands for. Blanks between them have a share too.
    """
    written = [(letter, before.isspace()) for text in texts for before, letter in _pairs(text)]
    shares = []
    at = 0
    for count in times:
        own = written[at : at + count]
        at += count
        starts = [
            number + sum(is_after_blank for _, is_after_blank in own[1 : number + 1])
            for number in range(count)
        ]
        width = starts[-1] + 1
        shares.append(
            [(own[number][0], start / width, (start + 1) / width) for number, start in enumerate(starts)]
        )
    return shares


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yields each character that is not white space, behind the character before it."""
    return (
        (before, letter) for before, letter in zip(" " + text, text, strict=False) if not letter.isspace()
    )
