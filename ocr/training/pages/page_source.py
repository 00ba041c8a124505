"""What training pages are drawn from: the texts, fonts, pictures and documents of a corpus."""

import json
import random
from pathlib import Path

import numpy as np
import pymupdf

from ocr.training.pages.compose import compose, compose_form
from ocr.training.pages.crop_forms import draw_part
from ocr.training.pages.fonts import Fonts
from ocr.training.pages.genres import GENRES, MIXED, draw_form
from ocr.training.pages.truth.page_truth import Sheet, UnreadableError
from ocr.training.pages.words.text import TextSource
from ocr.training.pictures.source import Pictures

pymupdf.TOOLS.mupdf_display_errors(False)

_PARTS = 0.25  # share of composed pages that are drawn as crops
_SMALL_PX, _SMALL_SCALE = 640, 2.2  # the side of a small sheet, and its pixels a point
# What a draw may raise that gave no usable page: the caller draws again.
USELESS_DRAW = (
    UnreadableError,
    RuntimeError,
    ValueError,
    ArithmeticError,
    LookupError,
    pymupdf.mupdf.FzErrorBase,
)


class PageSource:
    """One split of a corpus. Every worker process has its own; `folder` is the output of ocr.training.corpus."""

    def __init__(self, folder: Path, *, split: str) -> None:
        self.text = TextSource(folder / "text", split)
        self.fonts = Fonts(folder / "fonts", "train")
        self.pictures = Pictures(folder / "pictures", split)
        self.folder, self.split = folder, split
        self.indexes: list[Path] = []
        self.documents: list[tuple[Path, list[int]]] = []
        self.draws = 0

    def look_for_documents(self) -> None:
        """Reads `pdfs*/index.json` before some draws: more may arrive in training, a large set takes long to copy."""
        self.draws += 1
        if self.draws % 200 != 1:
            return
        indexes = sorted(self.folder.glob("pdfs*/index.json"))
        if indexes != self.indexes:
            self.indexes = indexes
            self.documents = [
                (index.parent / entry["file"], entry["pages"])
                for index in indexes
                for entry in json.loads(index.read_text())
                if entry["split"] == self.split and entry["pages"]
            ]

    def composed(self, rng: random.Random) -> Sheet:
        """Returns a composed page or a part of one. Raises: UnreadableError."""
        form = draw_part(rng) if rng.random() < _PARTS else draw_form(rng)
        return compose_form(rng, self.text, self.fonts, form, pictures=self.pictures)

    def small(self, rng: random.Random) -> Sheet:
        """Returns a small composed sheet in large type. Raises: UnreadableError."""
        em_px = float(np.exp(rng.uniform(np.log(15.0), np.log(36.0))))
        return compose(
            rng,
            self.text,
            self.fonts,
            width_pt=_SMALL_PX / _SMALL_SCALE,
            height_pt=_SMALL_PX / _SMALL_SCALE,
            size_pt=em_px / _SMALL_SCALE,
            fill=1.2,
            furniture=False,
            genre=MIXED if rng.random() < 0.6 else rng.choice(GENRES),
            pictures=self.pictures if rng.random() < 0.5 else None,
        )
