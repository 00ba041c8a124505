"""Pages as exports get them, with defaults."""

from typing import Any

from storage.export.outline import Outline
from storage.export.rows import BlockRow, PageRow
from storage.export.structure import StructuredRow, structured
from storage.types import WordRow


def word(text: str, *sides: int, confidence: float | None = 0.5) -> WordRow:
    x0, y0, x1, y1 = sides or (0, 0, 0, 0)
    return WordRow(
        text=text, box=(x0, y0, x1, y1) if sides else None, confidence=confidence if sides else None
    )


def a_row(text: str | None = "", page: int = 1, **changes: Any) -> PageRow:
    values: PageRow = {
        "path": "/in/a.pdf", "sha256": "a" * 64, "page": page, "status": "ok", "text": text, "markdown": text,
        "confidence": 0.9, "blocks": [], "timings": {}, "error": None, "source": "ocr", "rung": None, "rotation_deg": 0,
        "layer_agreement": None, "script": None, "doubt": None, "superseded": False, "words": [], "width_px": 1000,
        "height_px": 2000, "dpi": 200.0, "corrected_by": None, "corrected_at": None,
    }  # fmt: skip
    return {**values, **changes}  # type: ignore[typeddict-item]


def as_structured(*rows: PageRow) -> list[StructuredRow]:
    """The pages of a document as formats with structure get them."""
    return list(structured(rows, lambda _: Outline.of(rows)))


def a_letter() -> PageRow:
    """A heading, a paragraph of two lines, a picture, and a word whose place is not known."""
    return a_row(
        "Dear <you> & me\n\none two\nthree lost",
        blocks=[
            BlockRow(label="title", box=(100, 100, 500, 140), text="Dear <you> & me", confidence=0.75, source="ocr"),
            BlockRow(label="image", box=(600, 600, 900, 900), text="", confidence=None, source="ocr"),
            BlockRow(label="text", box=None, text="one two\nthree lost", confidence=None, source="ocr"),
        ],
        words=[
            word("Dear", 100, 100, 200, 140), word("<you>", 210, 100, 300, 140), word("&", 310, 100, 330, 140),
            word("me", 340, 100, 500, 140), word("one", 100, 200, 150, 230), word("two", 160, 202, 220, 232),
            word("three", 100, 250, 190, 280), word("lost"),
        ],
    )  # fmt: skip


def a_failure(page: int = 2) -> PageRow:
    return a_row(
        None, page, status="failed", confidence=None, source=None, width_px=None, height_px=None, dpi=None,
        error={"stage": "render", "category": "crash", "message": "bad --> <b>\x01"},
    )  # fmt: skip
