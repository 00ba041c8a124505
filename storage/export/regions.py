"""Parts a page into its regions, their lines and the words of those, for formats that say where text stands."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from storage.export.rows import BlockRow, PageRow
from storage.types import BoxPx, WordRow
from storage.words import around


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLine:
    """A line of text. box: around those of its words, (x0, y0, x1, y1) in page pixels; None where none has one."""

    words: tuple[WordRow, ...]
    box: BoxPx | None

    @property
    def text(self) -> str:
        """Returns its words with a space between two."""
        return " ".join(word["text"] for word in self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A region of a page, without lines if it is a picture. label: as a block's. box, confidence: None if unknown."""

    label: str
    lines: tuple[TextLine, ...]
    box: BoxPx | None
    confidence: float | None = None


def regions(row: PageRow) -> list[Region]:
    """Returns the page's regions in reading order; all words of its text are in them, in the text's order.

    They are its blocks. Where those are not the text's, as of a page that somebody corrected, they are the text's
    paragraphs.
    """
    text = row["text"] or ""
    words = row["words"] or [WordRow(text=name, box=None, confidence=None) for name in text.split()]
    left, blocks, found = iter(words), row["blocks"], []
    if [name for block in blocks for name in block["text"].split()] != text.split():
        parts = (part for part in text.split("\n\n") if part.split())
        blocks = [BlockRow(label="text", text=part, box=None, confidence=None, source="") for part in parts]
    for block in blocks:
        lines = tuple(_lines(block["text"], left))
        box = block["box"] or around(line.box for line in lines)
        found.append(Region(label=block["label"], lines=lines, box=box, confidence=block["confidence"]))
    return found


def _lines(text: str, words: Iterator[WordRow]) -> Iterator[TextLine]:
    """Yields the lines of a text that have words, each with as many words as stand in it."""
    for line in text.split("\n"):
        if own := tuple(islice(words, len(line.split()))):
            yield TextLine(words=own, box=around(word["box"] for word in own))
