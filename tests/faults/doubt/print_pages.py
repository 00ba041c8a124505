"""Draws pages whose print is easily lost: large type, a lone word or number, slanted sheets; and empty sheets.

Each must end with its text, or doubtful; none as blank, and none as ok with another text or with none. Those with
nothing printed on them are blank. `python -m tests.faults.statuses make DIR --kinds lone_print` writes them.
"""

from collections.abc import Iterator

import numpy as np
import pymupdf
from PIL import Image

from tests.benchmarks.pages import empty_sheets
from tests.faults.doubt.lost_pictures import saved
from tests.faults.statuses.pages import DOUBTFUL, MadePage, Workshop

_DPI = 150
_WORDS = (
    "The committee met on Tuesday and looked at the plans for the new bridge. Most of the members were in favour of "
    "the northern route, which is shorter and leaves the old trees by the river where they are. The cost is to be "
    "shared between the two towns, as it was in earlier years. A second meeting will be held in the spring."
)
_SLANTS = (-20, -15, -10, -6, -3, 3, 6, 10, 15, 20)


def pages(_: Workshop) -> Iterator[MadePage]:
    """Yields each page with its text, and empty sheets, which are blank."""
    for name, text, picture in printed():
        yield _page(name, picture, DOUBTFUL, text)
    for kind, sheet in empty_sheets.sheets(_DPI, seed=7).items():
        yield _page(f"sheet-{kind}", Image.fromarray(sheet), frozenset({"blank"}))


def _page(name: str, picture: Image.Image, statuses: frozenset[str], text: str = "") -> MadePage:
    return MadePage(name=name, content=saved(picture, "PNG", dpi=(_DPI, _DPI)), statuses=statuses, text=text)


def printed() -> Iterator[tuple[str, str, Image.Image]]:
    """Yields name, text and picture of each page."""
    yield from posters()
    for size_pt, word in ((12, "7"), (40, "XIV")):
        yield f"number-{size_pt}-{word}", word, _sheet([(word, size_pt, 0.45)])
    for size_pt, word in ((10, "Appendix"), (14, "Notes"), (24, "Contents"), (60, "Index"), (80, "Part Two")):
        yield f"word-{size_pt}-{word.replace(' ', '')}", word, _sheet([(word, size_pt, 0.5)])
    for size_pt, number in ((90, "7"), (150, "VIII")):
        lines = [(number, size_pt, 0.3), ("In which the bridge is opened", 20, 0.5)]
        yield f"opener-{size_pt}", f"{number} In which the bridge is opened", _sheet(lines)
    for angle in _SLANTS:
        yield f"slant-{angle:+}", _WORDS, _slanted(angle)


def posters() -> Iterator[tuple[str, str, Image.Image]]:
    """Yields name, text and picture of each page whose print is too large to be found as a line."""
    for size_pt, word in (
        (100, "SALE"),
        (150, "SALE"),
        (200, "OPEN"),
        (330, "GO"),
        (400, "NO"),
        (130, "Danger"),
    ):
        yield f"poster-{size_pt}-{word}", word, _sheet([(word, size_pt, 0.5)])
    for size_pt, word in ((40, "II"), (80, "3"), (200, "42"), (330, "5")):
        yield f"number-{size_pt}-{word}", word, _sheet([(word, size_pt, 0.45)])


def _sheet(lines: list[tuple[str, float, float]]) -> Image.Image:
    """Returns an A4 sheet with each line centred. lines: text, size in points, share of the height."""
    page = pymupdf.open().new_page(width=595, height=842)
    for text, size_pt, share in lines:
        width = pymupdf.get_text_length(text, "hebo", size_pt)
        page.insert_text(
            (max(5, (595 - width) / 2), share * 842 + size_pt / 3), text, fontname="hebo", fontsize=size_pt
        )
    return _drawn(page)


def _slanted(angle_deg: float) -> Image.Image:
    """Returns a page of running text on a slanted sheet, with all of its print still on the picture."""
    page = pymupdf.open().new_page(width=595, height=842)
    page.insert_textbox((120, 230, 475, 640), _WORDS, fontsize=14, fontname="tiro", lineheight=1.4)
    return _drawn(page).rotate(angle_deg, Image.Resampling.BICUBIC, fillcolor=(255, 255, 255))


def _drawn(page: pymupdf.Page) -> Image.Image:
    pixmap = page.get_pixmap(dpi=_DPI)
    pixels = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3)
    return Image.fromarray(pixels)
