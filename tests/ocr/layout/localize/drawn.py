"""Pages drawn by hand: the cells as a perfect head would name them, and the ink of every letter."""

from collections.abc import Container

import numpy as np

from ocr.layout.localize.matching.canvas import Canvas
from ocr.layout.localize.matching.text_boxes import Place, place

CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,-:"
LETTER_CELLS = 2
TYPE_PX = 20
SMALL = set("acemnorsuvwxzgpqy.,-:")
CLASSES = {character: index + 2 for index, character in enumerate(CHARACTERS)}

Box = tuple[float, float, float, float]


class DrawnPage:
    """White paper of width_px x height_px, both multiples of 16."""

    def __init__(self, width_px: int = 960, height_px: int = 640) -> None:
        self.cells = np.zeros((height_px // 16, width_px // 4), np.int16)
        self.grey = np.full((height_px, width_px), 255, np.uint8)

    def put(self, text: str, cell: int, base_px: float, slope: float = 0.0) -> Box:
        """Draws one line from a column of cells on, its baseline at a height; returns the box it stands in."""
        for index, letter in enumerate(text):
            x = cell + LETTER_CELLS * index
            base = round(base_px + 4 * slope * (x - cell))
            if letter == " ":
                continue
            row = int((base - 0.32 * TYPE_PX) // 16)
            self.cells[row, x : x + LETTER_CELLS] = CLASSES[letter]
            height = 9 if letter in SMALL else 14
            self.grey[base - height : base, 4 * x + 1 : 4 * x + 7] = 40
        end = cell + LETTER_CELLS * len(text)
        bases = (base_px, base_px + 4 * slope * (end - cell))
        return 4 * cell, min(bases) - 0.77 * TYPE_PX, 4 * end, max(bases) + 0.23 * TYPE_PX

    def place(self, texts: list[str], wanted: Container[int] | None = None) -> list[Place]:
        high, wide = self.grey.shape
        canvas = Canvas(grey=self.grey, box=(0, 0, wide, high), width_px=wide, height_px=high)
        return place(texts, self.cells, CHARACTERS, canvas, wanted)


def around(*boxes: Box) -> Box:
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)
