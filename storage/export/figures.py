"""Figures of a page: where they are, what their captions say, and the references to them in its markdown.

Those of a document that is being exported are kept as files beside it, or within it.
"""

import base64
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote

from storage.export.rows import BlockRow, PageRow
from storage.strings.text import stored_path, text_sha256
from storage.types import BoxPx

# Regions that are pictures; models that write a reference for a picture call it "image".
_KINDS = frozenset({"image", "figure", "picture", "chart"})
_CAPTIONS = frozenset({"image_caption", "figure_caption", "caption", "figure_title"})
_REFERENCE = re.compile(r"!\[\]\((images/\d+_(\d+)\.jpg)\)")
_TAG = re.compile(r"<[^<>]{0,200}>")
# Between brackets these would be markup, or end them.
_MARKUP = re.compile(r"([\\`*_\[\]<>&!~|])")
_MOST_ALT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure. number: from 1 on its page. box: (x0, y0, x1, y1) in page pixels. alt: its caption, plain, one line.

    reference: the target of its reference in the page's markdown.
    """

    number: int
    box: BoxPx
    alt: str
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A figure as an export shows it. url: of its picture; None where it cannot be drawn."""

    url: str | None
    alt: str


# Has a page's figures drawn; returns the URL of each, None for those that cannot be.
Place = Callable[[PageRow, Sequence[Figure]], Sequence[str | None]]


def placed(row: PageRow, place: Place | None) -> tuple[str, dict[str, Shown]]:
    """Returns a page's markdown, with a reference for every figure, and reference -> figure.

    place: None has none drawn, and leaves the markdown as it is.
    """
    markdown = (row["text"] if row["markdown"] is None else row["markdown"]) or ""
    if place is None:
        return markdown, {}
    markdown, figures = _located(row, markdown)
    urls = place(row, figures) if figures else ()
    return markdown, {
        figure.reference: Shown(url=url, alt=figure.alt) for figure, url in zip(figures, urls, strict=True)
    }


def with_urls(markdown: str, shown: Mapping[str, Shown]) -> str:
    """Returns inert markdown (storage.export.markdown) with its references leading to the pictures.

    A figure that is not drawn is its caption in brackets. Other references stay.
    """

    def written(found: re.Match[str]) -> str:
        figure = shown.get(found[1])
        if figure is None:
            return found[0]
        alt = _MARKUP.sub(r"\\\1", figure.alt)
        return f"\\[{alt}\\]" if figure.url is None else f"![{alt}]({figure.url})"

    return _REFERENCE.sub(written, markdown)


def _located(row: PageRow, markdown: str) -> tuple[str, list[Figure]]:
    """Returns the markdown with references for the figures that had none, and the page's figures in reading order.

    A figure whose reference somebody took out of a corrected text is none any more.
    """
    blocks = row["blocks"]
    added = sum(block["label"] == "image" for block in blocks)
    found: list[Figure] = []
    taken: set[int] = set()
    written = {int(match[2]): match[1] for match in _REFERENCE.finditer(markdown)}
    at = images = 0
    for index, block in enumerate(blocks):
        reference = None
        if block["label"] == "image":
            reference = written.get(images)
            images += 1
            if reference is not None and (start := markdown.find(reference, at)) >= 0:
                at = start + len(reference) + 1
        elif block["label"] in _KINDS and row["corrected_by"] is None and block["box"] is not None:
            reference = f"images/{row['page']}_{added}.jpg"
            added += 1
            markdown, at = _inserted(markdown, at, f"![]({reference})")
        if reference is not None and (box := block["box"]) is not None:
            number = len(found) + 1
            alt = _caption(blocks, index, taken) or f"page {row['page']}, figure {number}"
            found.append(Figure(number=number, box=box, alt=alt, reference=reference))
        if (start := markdown.find(block["text"], at)) >= 0:
            at = start + len(block["text"]) if block["text"] else at
    return markdown, found


def _inserted(markdown: str, at: int, reference: str) -> tuple[str, int]:
    """Returns the markdown with a paragraph of its own after the block that ends there, and where that ends."""
    before, after = markdown[:at].rstrip("\n"), markdown[at:].lstrip("\n")
    start = f"{before}\n\n{reference}" if before else reference
    return (f"{start}\n\n{after}" if after else start), len(start)


def _caption(blocks: Sequence[BlockRow], index: int, taken: set[int]) -> str:
    """Returns the caption of a figure: a title before it, else what stands after or before; else the text within it.

    taken: captions of other figures, to which this one is added.
    """
    around = [other for other in (index + 1, index - 1) if 0 <= other < len(blocks) and other not in taken]
    # Stable: of two captions the one behind is first, but a title is before its figure.
    around.sort(key=lambda other: not (other < index and blocks[other]["label"] == "figure_title"))
    own = next((other for other in around if blocks[other]["label"] in _CAPTIONS), index)
    taken.add(own)
    words = " ".join(_TAG.sub(" ", blocks[own]["text"]).split())
    return words if len(words) <= _MOST_ALT else words[: _MOST_ALT - 1] + "…"


# A document that embeds its figures is opened whole by a browser.
MOST_EMBEDDED_BYTES = 32 << 20
_TOO_MANY = f"a file embeds no more than {MOST_EMBEDDED_BYTES >> 20} MB of figures; md has them as files"
_NOWHERE = "a figure has no place on the page"
_MOST_PAGES_NAMED = 5

# Draws the figures of a page; returns a JPEG file for each box, an empty one for a box without area, or the reason why
# none can be drawn.
Draw = Callable[[PageRow, Sequence[BoxPx]], Sequence[bytes] | str]


def partial_path(target: str) -> str:
    """Returns where a file or folder is written until it is whole: beside it, with a name that is never too long."""
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{text_sha256(stored_path(name))[:16]}.{os.getpid()}.part")


class DocumentFigures:
    """The figures of a document: JPEG files in a folder beside its own, 0003_1.jpg for the first of its third page.

    number: of those drawn. folder: of the files, which appear together, once all are drawn; None makes them data URLs,
    most_bytes for a document. refuse: raises for a path, real and as named, that must not be replaced. A context
    manager: what was not kept leaves no trace.
    """

    def __init__(
        self,
        draw: Draw,
        folder: str | None = None,
        refuse: Callable[[str, str], None] = lambda *_: None,
        *,
        most_bytes: int = MOST_EMBEDDED_BYTES,
    ) -> None:
        self._draw, self._folder, self._refuse, self._left_bytes = draw, folder, refuse, most_bytes
        self._partial = partial_path(folder or "")
        self.number = 0
        self._path = ""
        self._missing: dict[str, list[int]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            shutil.rmtree(self._partial, ignore_errors=True)

    def keep(self) -> None:
        """Keeps what was drawn; to be called once all pages are written. Raises: ExportPathError, OSError."""
        if self._folder is None or not self.number:
            return
        targets = {name: os.path.join(self._folder, name) for name in sorted(os.listdir(self._partial))}
        for target in targets.values():
            self._refuse(os.path.realpath(target), target)
        os.makedirs(self._folder, exist_ok=True)
        for name, target in targets.items():
            os.replace(os.path.join(self._partial, name), target)

    def place(self, row: PageRow, figures: Sequence[Figure]) -> list[str | None]:
        """Has a page's figures drawn; returns the URL of each, None for those that cannot be."""
        self._path = row["path"]
        drawn = self._draw(row, [figure.box for figure in figures])
        if isinstance(drawn, str):
            self._left(row, drawn)
            return [None] * len(figures)
        urls: list[str | None] = []
        for figure, jpeg in zip(figures, drawn, strict=True):
            if not jpeg:
                self._left(row, _NOWHERE)
            urls.append(self._kept(row, figure, jpeg) if jpeg else None)
        self.number += len(urls) - urls.count(None)
        return urls

    def shortfall(self) -> str | None:
        """Returns a line on the figures that were not drawn; None if all were."""
        if not self._missing:
            return None
        return f"{self._path}: {'; '.join(_on_pages(*one) for one in self._missing.items())}"

    def _left(self, row: PageRow, reason: str) -> None:
        self._missing.setdefault(reason, []).append(row["page"])

    def _kept(self, row: PageRow, figure: Figure, jpeg: bytes) -> str | None:
        """Keeps a figure, or notes that there is no room for it; returns its URL."""
        if self._folder is not None:
            name = f"{row['page']:04}_{figure.number}.jpg"
            os.makedirs(self._partial, exist_ok=True)
            with open(os.path.join(self._partial, name), "wb") as file:
                file.write(jpeg)
            return f"{quote(os.path.basename(self._folder), safe='')}/{name}"
        if len(jpeg) > self._left_bytes:
            self._left(row, _TOO_MANY)
            return None
        self._left_bytes -= len(jpeg)
        return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode('ascii')}"


def _on_pages(reason: str, pages: Sequence[int]) -> str:
    pages = list(dict.fromkeys(pages))
    named = ", ".join(map(str, pages[:_MOST_PAGES_NAMED]))
    more = f" and {len(pages) - _MOST_PAGES_NAMED} more" if len(pages) > _MOST_PAGES_NAMED else ""
    return f"page{'' if len(pages) == 1 else 's'} {named}{more}: {reason}"
