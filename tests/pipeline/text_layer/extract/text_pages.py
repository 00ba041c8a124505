"""Lines and pages with text at known places."""

from pathlib import Path

import pymupdf

from pipeline.text_layer.extract.lines import LayerLine


def line(text: str, x0: float, base: float, x1: float | None = None, size: float = 10.0) -> LayerLine:
    return LayerLine(text=text, x0=x0, x1=x0 + 5.0 * len(text) if x1 is None else x1, base=base, size=size)


def written(path: Path, *lines: tuple[float, float, str], rotation: int = 0, size: float = 10.0) -> Path:
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=600)
        for x, y, text in lines:
            page.insert_text((x, y), text, fontsize=size)
        page.set_rotation(rotation)
        document.save(path)
    return path
