"""What pages are drawn from: the texts, fonts, pictures and documents of a corpus."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pymupdf

from ocr.training.pages.compose import Sources, compose
from ocr.training.pages.genres import GENRES, MIXED, Form, draw_form
from ocr.training.pages.page_truth import Sheet, UnreadableError

pymupdf.TOOLS.mupdf_display_errors(False)

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
    """One split of a corpus. Every worker process has its own; `folder` is the output of ocr.training.corpus.

    leave_out: says of which packages no document is drawn.
    """

    def __init__(
        self,
        folder: Path,
        *,
        split: str,
        fonts: str = "train",
        leave_out: Callable[[str], bool] = lambda package: False,
    ) -> None:
        self.sources = Sources.of(folder, split, fonts)
        index = folder / "pdfs" / "index.json"
        entries = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else []
        self.documents: list[tuple[Path, list[int]]] = [
            (index.parent / entry["file"], entry["pages"])
            for entry in entries
            if entry["split"] == split and entry["pages"] and not leave_out(entry["package"])
        ]

    @contextmanager
    def real(self, rng: random.Random) -> Iterator[tuple[Sheet, tuple[Path, int]]]:
        """Opens a page of a document, upright; says which. Raises UnreadableError at the end if a font is broken."""
        file, pages = rng.choice(self.documents)
        number = rng.choice(pages)
        pymupdf.TOOLS.reset_mupdf_warnings()
        with pymupdf.open(file) as document:
            page = document[number]
            page.remove_rotation()
            yield Sheet.of(page), (file, number)
        if "broken file" in pymupdf.TOOLS.mupdf_warnings():
            raise UnreadableError(
                "a font cannot be loaded: other characters are shown than the text layer has"
            )

    def composed(self, rng: random.Random) -> Sheet:
        """Returns a composed page. Raises: UnreadableError."""
        return compose(rng, self.sources, draw_form(rng))

    def small(self, rng: random.Random) -> Sheet:
        """Returns a small composed sheet in large type. Raises: UnreadableError."""
        em_px = float(np.exp(rng.uniform(np.log(15.0), np.log(36.0))))
        form = Form(
            genre=MIXED if rng.random() < 0.6 else rng.choice(GENRES),
            width_pt=_SMALL_PX / _SMALL_SCALE,
            height_pt=_SMALL_PX / _SMALL_SCALE,
            size_pt=em_px / _SMALL_SCALE,
            columns=1,
            fill=1.2,
            furniture=False,
        )
        return compose(rng, self.sources, form)
