"""A writer and a sheet to write on, for tests of blocks."""

import random
from pathlib import Path

import pymupdf

from ocr.training.pages.blocks.page_writer import Writer
from ocr.training.pages.compose import Layout
from ocr.training.pages.page_truth import Sheet
from ocr.training.pages.styles import Fonts, choose_style
from ocr.training.pages.words.text import TextSource
from ocr.training.pictures.source import Pictures

WIDTH_PT = 400.0


class Desk:
    """A page of one or several boxes in one style."""

    def __init__(self, corpus: Path, seed: int = 0, category: str = "en_prose", tight: bool = False) -> None:
        rng, fonts = random.Random(seed), Fonts(corpus / "fonts")
        style = choose_style(rng, fonts, 9.0, category, tight=tight)
        self.writer = Writer(
            rng=rng,
            source=TextSource(corpus / "text"),
            category=category,
            width_pt=WIDTH_PT,
            size_pt=9.0,
            pictures=Pictures(corpus / "pictures"),
            measure=style.measure(fonts),
            measure_code=style.measure(fonts, code=True),
        )
        self._layout = Layout(
            fonts=fonts, style=style, images=self.writer.images, width_pt=WIDTH_PT + 40, height_pt=2000
        )

    def sheet(self, block: str, *boxes: tuple[float, float, float, float]) -> Sheet:
        """Returns a sheet with the blocks in the boxes; in one long box where none is given."""
        rects = [pymupdf.Rect(*box) for box in boxes or [(20, 20, 20 + WIDTH_PT, 1980)]]
        self._layout.place([block], rects)
        return self._layout.finish()
