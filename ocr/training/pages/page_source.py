"""What pages are drawn from: the texts, fonts, pictures and documents of a corpus."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymupdf

from ocr.training.pages.page_truth import Sheet, UnreadableError
from ocr.training.pages.styles import Fonts
from ocr.training.pages.words.text import TextSource
from ocr.training.pictures.source import Pictures

pymupdf.TOOLS.mupdf_display_errors(False)

# What a draw may raise that gave no usable page: the caller draws again.
USELESS_DRAW = (
    UnreadableError, RuntimeError, ValueError, ArithmeticError, LookupError, pymupdf.mupdf.FzErrorBase,
)  # fmt: skip


class PageSource:
    """One split of a corpus. Every worker process has its own; `folder` is the output of ocr.training.corpus."""

    def __init__(self, folder: Path, split: str = "train") -> None:
        self.printed = folder / f"printed-{split}.json.xz"
        self.text = TextSource(folder / "text", split)
        self.fonts = Fonts(folder / "fonts")
        self.pictures = Pictures(folder / "pictures")
        index = folder / "pdfs" / "index.json"
        entries = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else []
        self.documents: list[tuple[Path, list[int]]] = [
            (index.parent / entry["file"], entry["pages"])
            for entry in entries
            if entry["split"] == split and entry["pages"]
        ]

    @contextmanager
    def real(self, rng: random.Random) -> Iterator[Sheet]:
        """Opens a page of a document, upright. Raises UnreadableError at the end if a font is broken."""
        file, pages = rng.choice(self.documents)
        number = rng.choice(pages)
        pymupdf.TOOLS.reset_mupdf_warnings()
        with pymupdf.open(file) as document:
            page = document[number]
            page.remove_rotation()
            yield Sheet.of(page)
        if "broken file" in pymupdf.TOOLS.mupdf_warnings():
            raise UnreadableError(
                "a font cannot be loaded: other characters are shown than the text layer has"
            )
