"""Lines and pages with text at known places."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymupdf

from ocr.paragraphs.text_lines import Line
from pipeline.text_layer.page import judged
from pipeline.types import Layer

PROSE = "The harbour lay quiet in the early light, and the boats were still heavy with their catch. " * 3


def line(text: str, x0: float, base: float, x1: float | None = None, size: float = 10.0) -> Line:
    right = x0 + 5.0 * len(text) if x1 is None else x1
    return Line(text=text, spans=((x0, right),), base=base, size=size)


def written(path: Path, *lines: tuple[float, float, str], rotation: int = 0, size: float = 10.0) -> Path:
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=600)
        for x, y, text in lines:
            page.insert_text((x, y), text, fontsize=size)
        page.set_rotation(rotation)
        document.save(path)
    return path


def layer_of(draw: Callable[[Any], None], rotation: int = 0) -> Layer:
    with pymupdf.open() as made:
        page = made.new_page(width=500, height=700)
        draw(page)
        page.set_rotation(rotation)
        with pymupdf.open("pdf", made.tobytes()) as document:
            layer = judged(document, 0, 144)
    assert layer is not None
    assert layer.text == "\n\n".join(block.text for block in layer.blocks)
    assert [word.text for word in layer.words] == layer.text.split()
    return layer
