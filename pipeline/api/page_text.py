"""The values of the Python API: a page with its text, blocks and words, a document, and what a run came to.

Torch-free.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ocr.types import ParsedText
from pipeline.types import PageResult
from storage.export.rows import PageRow

# (x0, y0, x1, y1) in pixels of the page as rendered, upright.
Box = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One region of a page, in reading order.

    label: what it is, such as "text" or "title". box: (x0, y0, x1, y1) in pixels of the page, None where it is not
    known. confidence: 0 to 1, None where it is not known.
    """

    label: str
    text: str
    box: Box | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One word: what stands between white space in a page's text. box, confidence: as a Block's."""

    text: str
    box: Box | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """One page of one file.

    path: of its file, absolute. number: counted from 1. status: "ok", "embedded" (the PDF's own text was taken),
    "blank", "doubtful" (the text may be wrong; `problem` says why), "truncated", "repeated", "failed", "quarantined",
    or "pending" for a page that was not read yet.
    text, markdown: "" where there is none. confidence: 0 to 1, the share of its characters that is likely right; None
    where it is not known. problem: why there is no text, or why it is in doubt; None where nothing is wrong.
    words: those of text.split(), in its order; () where no places of words are known.
    width_px, height_px, dpi: of the page as rendered, upright, to which all boxes refer; None where it was not
    rendered, or for an image without a resolution. rotation_deg: how far the page was turned clockwise to be upright.
    """

    path: str
    number: int
    status: str
    text: str
    markdown: str
    confidence: float | None = None
    problem: str | None = None
    blocks: tuple[Block, ...] = field(default=(), repr=False)
    words: tuple[Word, ...] = field(default=(), repr=False)
    width_px: int | None = None
    height_px: int | None = None
    dpi: float | None = None
    rotation_deg: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One file and its pages.

    status: "ok", or why it has no text: "broken", "encrypted", or "skipped" where it is neither a PDF nor an image,
    or "failed" where none of its pages could be read; reason: the same in words, or what was not read; None where all
    is well.
    """

    path: str
    status: str
    pages: tuple[PageText, ...]
    reason: str | None = None

    @property
    def text(self) -> str:
        """The text of all pages, with a form feed between two of them."""
        return "\f".join(page.text for page in self.pages)

    @property
    def markdown(self) -> str:
        """The markdown of all pages that have some, one after the other."""
        return "\n\n".join(page.markdown for page in self.pages if page.markdown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a run came to.

    run: its number in the database. pages: page status -> number of pages of this run. documents: status -> number of
    files. num_done_before: pages that were read by earlier runs already. num_left: pages that it did not get to.
    seconds: how long it took. exit_code: the one that `ocrbatch run` would have ended with; 0 if nothing is amiss.
    """

    run: int
    pages: Mapping[str, int]
    documents: Mapping[str, int]
    num_done_before: int
    num_left: int
    seconds: float
    exit_code: int


def of_row(row: PageRow) -> PageText:
    """Returns a page of an export."""
    error = row["error"]
    return PageText(
        path=row["path"],
        number=row["page"],
        status=row["status"],
        text=row["text"] or "",
        markdown=row["markdown"] or "",
        confidence=row["confidence"],
        problem=row["doubt"] if error is None else error["message"],
        blocks=tuple(
            Block(label=one["label"], text=one["text"], box=one["box"], confidence=one["confidence"])
            for one in row["blocks"]
        ),
        words=tuple(Word(**word) for word in row["words"]),
        width_px=row["width_px"],
        height_px=row["height_px"],
        dpi=row["dpi"],
        rotation_deg=row["rotation_deg"] or 0,
    )


def of_result(result: PageResult) -> PageText:
    """Returns a page as a run has just read it."""
    parsed, error = result.parsed or ParsedText(text="", markdown=""), result.error
    return PageText(
        path=result.page.path,
        number=result.page.page_number,
        status=result.status,
        text=parsed.text,
        markdown=parsed.markdown,
        confidence=result.confidence,
        problem=result.doubt if error is None else error.message,
        blocks=tuple(
            Block(label=one.label, text=one.text, box=one.box_px, confidence=one.confidence)
            for one in parsed.blocks
        ),
        words=tuple(Word(text=one.text, box=one.box_px, confidence=one.confidence) for one in parsed.words),
        width_px=result.width_px,
        height_px=result.height_px,
        dpi=result.dpi,
        rotation_deg=result.rotation_deg,
    )
