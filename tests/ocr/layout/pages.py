"""Pages drawn for these tests: real print at 155 dpi, as a worker renders an A4 page."""

import random

import numpy as np
import pymupdf

from encoders.views import UInt8Array

DPI = 155
WORDS = (
    *(
        "the",
        "of",
        "and",
        "to",
        "in",
        "that",
        "is",
        "was",
        "for",
        "it",
        "with",
        "as",
        "his",
        "on",
        "be",
        "at",
        "by",
    ),
    *("had", "not", "are", "but", "from", "or", "have", "an", "they", "which"),
)


def words(count: int, seed: int = 1) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=count))


def new_page() -> pymupdf.Page:
    return pymupdf.open().new_page(width=595, height=842)


def write(page: pymupdf.Page, box_pt: tuple[float, float, float, float], text: str, size_pt: float) -> None:
    left = page.insert_textbox(box_pt, text, fontsize=size_pt, fontname="tiro", align=3)
    assert left >= 0, "the text is longer than its box"


def pixels(page: pymupdf.Page, dpi: int = DPI) -> UInt8Array:
    pixmap = page.get_pixmap(dpi=dpi, alpha=False)
    return np.frombuffer(pixmap.samples, dtype=np.uint8).reshape(pixmap.height, pixmap.width, 3).copy()


def ordinary() -> UInt8Array:
    """One column, 10 pt, some 1,900 characters."""
    page = new_page()
    write(page, (70, 70, 525, 780), words(500), 10)
    return pixels(page)


def small_print(size_pt: float = 5) -> UInt8Array:
    """One column of 5 pt, some 5,000 characters, with white paper around."""
    page = new_page()
    write(page, (70, 70, 525, 780), words(1300), size_pt)
    return pixels(page)


def two_columns() -> UInt8Array:
    """A heading over two full columns of 9 pt, some 6,000 characters, and a page number."""
    page = new_page()
    page.insert_text((170, 70), "A heading over both columns", fontsize=18)
    write(page, (50, 90, 288, 790), words(980, 2), 9)
    write(page, (306, 90, 545, 790), words(980, 3), 9)
    page.insert_text((294, 832), "17", fontsize=10)
    return pixels(page)


def table() -> UInt8Array:
    """Four columns of short cells in 90 rows of 6 pt."""
    page, draw = new_page(), random.Random(4)
    for row in range(90):
        for column in range(4):
            cell = " ".join(draw.choices(WORDS, k=5))
            page.insert_text((60 + 125 * column, 60 + 8.2 * row), cell, fontsize=6)
    return pixels(page)
