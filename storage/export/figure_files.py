"""Keeps the figures of a document that is being exported: as files beside it, or within it."""

import base64
import os
import shutil
from collections.abc import Callable, Sequence
from typing import Self
from urllib.parse import quote

from storage.export.figures import Figure
from storage.export.regions import Box
from storage.export.rows import PageRow
from storage.strings.text import text_sha256

# A document that embeds its figures is opened whole by a browser.
MOST_EMBEDDED_BYTES = 32 << 20
_TOO_MANY = f"a file embeds no more than {MOST_EMBEDDED_BYTES >> 20} MB of figures; md has them as files"
_NOWHERE = "a figure has no place on the page"
_MOST_PAGES_NAMED = 5

# Draws the figures of a page; returns a JPEG file for each box, an empty one for a box without area, or the reason why
# none can be drawn.
Draw = Callable[[PageRow, Sequence[Box]], Sequence[bytes] | str]


def partial_path(target: str) -> str:
    """Returns where a file or folder is written until it is whole: beside it, with a name that is never too long."""
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{text_sha256(name)[:16]}.{os.getpid()}.part")


class DocumentFigures:
    """The figures of a document. number: of those drawn. A context manager: what was not kept leaves no trace."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self.number = 0
        self._path = ""
        self._missing: dict[str, list[int]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def keep(self) -> None:
        """Keeps what was drawn; to be called once all pages are written. Raises: ExportPathError, OSError."""

    def place(self, row: PageRow, figures: Sequence[Figure]) -> list[str | None]:
        """Has a page's figures drawn; returns the URL of each, None for those that cannot be."""
        self._path = row["path"]
        drawn = self._draw(row, [figure.box for figure in figures])
        if isinstance(drawn, str):
            self._left(row, drawn)
            return [None] * len(figures)
        urls = [self._url_of(row, figure, jpeg) for figure, jpeg in zip(figures, drawn, strict=True)]
        self.number += len(urls) - urls.count(None)
        return urls

    def _url_of(self, row: PageRow, figure: Figure, jpeg: bytes) -> str | None:
        if not jpeg:
            self._left(row, _NOWHERE)
            return None
        return self._kept(row, figure, jpeg)

    def _left(self, row: PageRow, reason: str) -> None:
        self._missing.setdefault(reason, []).append(row["page"])

    def _kept(self, row: PageRow, figure: Figure, jpeg: bytes) -> str | None:
        raise NotImplementedError

    def shortfall(self) -> str | None:
        """Returns a line on the figures that were not drawn; None if all were."""
        if not self._missing:
            return None
        return f"{self._path}: {'; '.join(_on_pages(*one) for one in self._missing.items())}"


def _on_pages(reason: str, pages: Sequence[int]) -> str:
    pages = list(dict.fromkeys(pages))
    named = ", ".join(map(str, pages[:_MOST_PAGES_NAMED]))
    more = f" and {len(pages) - _MOST_PAGES_NAMED} more" if len(pages) > _MOST_PAGES_NAMED else ""
    return f"page{'' if len(pages) == 1 else 's'} {named}{more}: {reason}"


class FiguresBeside(DocumentFigures):
    """Figures as JPEG files in a folder beside the document's, 0003_1.jpg for the first of its third page.

    folder: of the files, which appear together, once all are drawn. refuse: raises for a path, real and as named, that
    must not be replaced.
    """

    def __init__(self, draw: Draw, folder: str, refuse: Callable[[str, str], None]) -> None:
        super().__init__(draw)
        self._folder, self._refuse = folder, refuse
        self._partial, self._url = partial_path(folder), quote(os.path.basename(folder), safe="")

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._partial, ignore_errors=True)

    def _kept(self, row: PageRow, figure: Figure, jpeg: bytes) -> str:
        name = f"{row['page']:04}_{figure.number}.jpg"
        os.makedirs(self._partial, exist_ok=True)
        with open(os.path.join(self._partial, name), "wb") as file:
            file.write(jpeg)
        return f"{self._url}/{name}"

    def keep(self) -> None:
        if not self.number:
            return
        names = sorted(os.listdir(self._partial))
        for name in names:
            target = os.path.join(self._folder, name)
            self._refuse(os.path.realpath(target), target)
        os.makedirs(self._folder, exist_ok=True)
        for name in names:
            os.replace(os.path.join(self._partial, name), os.path.join(self._folder, name))


class FiguresWithin(DocumentFigures):
    """Figures as data URLs, up to a size for each document."""

    def __init__(self, draw: Draw, most_bytes: int = MOST_EMBEDDED_BYTES) -> None:
        super().__init__(draw)
        self._left_bytes = most_bytes

    def _kept(self, row: PageRow, figure: Figure, jpeg: bytes) -> str | None:
        if len(jpeg) > self._left_bytes:
            self._left(row, _TOO_MANY)
            return None
        self._left_bytes -= len(jpeg)
        return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode('ascii')}"
