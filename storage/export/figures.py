"""Figures of a page: where they are, what their captions say, and the references to them in its markdown."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from storage.export.regions import Box, as_box
from storage.export.rows import BlockRow, PageRow

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
    box: Box
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
    markdown = row["markdown"] or row["text"] or ""
    if place is None:
        return markdown, {}
    markdown, figures = _located(row, markdown)
    urls = place(row, figures) if figures else ()
    return markdown, {
        figure.reference: Shown(url=url, alt=figure.alt) for figure, url in zip(figures, urls, strict=True)
    }


def with_urls(markdown: str, shown: Mapping[str, Shown]) -> str:
    """Returns inert markdown (storage.export.markup) with its references leading to the pictures.

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
        if reference is not None and (box := as_box(block["box"])) is not None:
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
    return _plain(blocks[own]["text"])


def _plain(text: str) -> str:
    words = " ".join(_TAG.sub(" ", text).split())
    return words if len(words) <= _MOST_ALT else words[: _MOST_ALT - 1] + "…"
