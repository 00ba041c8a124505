"""Type of any size is read whole and once, whatever else is on the page."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pymupdf
import pytest

from ocr.line_reader.found_lines import TextLine
from ocr.line_reader.page_text import page_text
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.line_reader.scales import Look, is_worth_halving, merged
from tests.benchmarks.pages.empty_sheets import sheets

Text: TypeAlias = tuple[str, float, float, float, str]
A4 = (595.0, 842.0)
BODY = (
    "Seven members came to the meeting, and four of them had walked there from the other side of the valley."
)


def drawn(size_pt: tuple[float, float], dpi: int, texts: Sequence[Text], white: float = 0.0) -> np.ndarray:
    """Returns a sheet [H, W] with (text, x, y of the baseline, size, font) on it, white on black down to `white`."""
    page = pymupdf.open().new_page(width=size_pt[0], height=size_pt[1])
    page.draw_rect((0, 0, size_pt[0], white), color=(0, 0, 0), fill=(0, 0, 0))
    for text, x, y, size, font in texts:
        page.insert_text((x, y), text, fontsize=size, fontname=font, color=3 * (float(y < white),))
    pixmap = page.get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY)
    return np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.stride)[:, : pixmap.width]


def read(reader: LineReader, grey: np.ndarray) -> list[str]:
    darkness = darkness_of(grey)
    text = page_text(reader.read(darkness, reader.find(darkness))).text
    return [" ".join(row.split()) for row in text.split("\n") if row]


@pytest.mark.parametrize("white_on_black", [False, True])
@pytest.mark.parametrize(
    ("head", "size", "font"),
    [
        ("Orchard news", 40, "tibo"),
        ("Orchard news", 66, "helv"),
        ("BALLOT", 90, "hebo"),
        ("Ferries", 120, "tiro"),
        ("Grain", 160, "hebo"),
        ("Hay", 200, "tiro"),
    ],
)
def test_a_headline_stands_whole_above_text_of_12_pt(
    reader: LineReader, head: str, size: float, font: str, white_on_black: bool
) -> None:
    rows = [BODY[:50].strip(), BODY[50:].strip()]
    texts: list[Text] = [(head, 40, 60 + 0.8 * size, size, font)]
    texts += [(row, 60, 330 + 18 * number, 12, "tiro") for number, row in enumerate(rows)]
    grey = drawn(A4, 150, texts, white=90 + size if white_on_black else 0)
    assert read(reader, grey) == [head, *rows]


NUMBERS = [1472, 3061, 2718, 5930, 8214, 6407, 7395, 4183]


@pytest.mark.parametrize(
    ("sheet", "dpi", "texts"),
    [
        ((144, 90), 200, [("Rye flour", 8, 16, 11), ("46.35", 10, 62, 44), ("per kg 2.20", 8, 84, 11)]),
        ((72, 36), 203, [("SHELF 27", 4, 15, 13), ("No. 5518", 4, 31, 13)]),
        ((430, 290), 200, [("CRATE 8306-71", 20, 50, 34), ("Mill Lane 14", 20, 110, 18), ("7.5 kg", 20, 170, 18)]),
        ((842, 1191), 150, [("Lantern", 60, 260, 170), ("night walk", 60, 460, 90), ("a coat", 60, 560, 36)]),
        ((595, 336), 150, [(str(it), 60 + n % 4 * 130, 60 + n // 4 * 80, 14) for n, it in enumerate(NUMBERS)]),
    ],
    ids=["price tag", "label", "parcel", "poster", "numbers"],
)  # fmt: skip
def test_sheets_with_type_that_is_large_for_them(
    reader: LineReader, sheet: tuple[float, float], dpi: int, texts: list[tuple[str, float, float, float]]
) -> None:
    found = " ".join(read(reader, drawn(sheet, dpi, [(*text, "helv") for text in texts])))
    assert found.split() == [word for text, *_ in texts for word in text.split()]


def test_a_letter_as_large_as_its_sheet(reader: LineReader) -> None:
    assert read(reader, drawn(A4, 100, [("5", 190, 560, 400, "hebo")])) == ["5"]


def test_empty_sheets_have_no_large_letters(reader: LineReader) -> None:
    greys = {kind: np.asarray(sheet)[..., 0] for kind, sheet in sheets(100, seed=3).items()}
    assert [kind for kind, grey in greys.items() if read(reader, grey)] == []


def test_all_of_a_strip_is_read(reader: LineReader) -> None:
    rows = [f"{number:02} crates of {('pears', 'plums', 'hops', 'rye')[number % 4]}" for number in range(60)]
    texts: list[Text] = [("HILL FARM", 20, 60, 30, "hebo")]
    texts += [(row, 20, 140 + 93 * n, 12.5, "cour") for n, row in enumerate(rows)]
    darkness = darkness_of(drawn((288, 5760), 150, texts))
    found = {line.text for line in reader.read(darkness, reader.find(darkness))}
    assert "HILL FARM" in found
    assert len(set(rows) & found) >= 58


def line(left: int, right: int, base: float, size: float) -> TextLine:
    return TextLine(left=left, right=right, baseline=np.full(right - left, base, np.float32), size=size)


def ends(lines: Sequence[TextLine]) -> list[tuple[int, int]]:
    return sorted((line.left, line.right) for line in lines)


def test_pieces_give_way_to_the_line_that_a_smaller_scale_shows() -> None:
    near = Look(scale=1.0, lines=[line(100, 230, 300, 60), line(225, 400, 302, 66), line(100, 700, 400, 14)])
    far = Look(scale=0.25, lines=[line(96, 408, 300, 64), line(90, 710, 400, 18)])
    assert ends(merged([near, far], lambda lines: 0)) == [(96, 408), (100, 700)]


@pytest.mark.parametrize(("many", "expected"), [(True, [(100, 420)]), (False, [(100, 300), (100, 310)])])
def test_small_lines_within_a_large_one_stay_if_they_have_more_letters(
    many: bool, expected: list[tuple[int, int]]
) -> None:
    near = Look(scale=1.0, lines=[line(100, 300, 270, 14), line(100, 310, 290, 14)])
    far = Look(scale=0.25, lines=[line(100, 420, 300, 64)])

    def letters(lines: Sequence[TextLine]) -> int:
        return sum(5 if line.size < 20 else 12 if many else 9 for line in lines)

    assert ends(merged([near, far], letters)) == expected


def test_what_only_a_smaller_scale_shows_must_have_letters() -> None:
    looks = [Look(scale=1.0, lines=[]), Look(scale=0.25, lines=[line(96, 408, 300, 64)])]
    assert ends(merged(looks, lambda lines: 0)) == []
    assert ends(merged(looks, lambda lines: 7 * len(lines))) == [(96, 408)]


@pytest.mark.parametrize(
    ("near", "far", "expected"), [(16, 7, False), (40, 0, True), (16, 10, True), (16, 20, False)]
)
def test_half_the_scale_is_looked_at_only_for_sizes_between(near: float, far: float, expected: bool) -> None:
    looks = [Look(scale=1.0, lines=[line(0, 90, 50, near)])]
    looks.append(Look(scale=0.25, lines=[line(0, 90, 50, 4 * far)] if far else []))
    assert is_worth_halving(*looks) is expected
