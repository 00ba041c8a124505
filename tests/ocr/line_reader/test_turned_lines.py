"""Lines on their side or upside down are read on pages that are upright, and stand where they belong."""

import numpy as np
import pymupdf
import pytest
from PIL import Image

from encoders.views import UInt8Array
from ocr.line_reader.found_lines import ReadLine, TextLine, TurnedLines
from ocr.line_reader.page_ink import PageInk
from ocr.line_reader.page_text import page_text
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.line_reader.turned_lines import rotated, skew_of, turned_lines, without_turned
from ocr.types import ParsedText

ABOVE = "Whoever wants to keep a boat here over the winter\nhas to ask the harbour master before September."
BELOW = "The gate is shut at nine, and the lamp is lit then."
PX_PER_PT = 2


def drawn(*texts: tuple[tuple[float, float], str, dict[str, object]]) -> UInt8Array:
    """Returns a sheet of 400 x 300 points, [600, 800]. texts: (where each begins, its lines, how it is written)."""
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=300)
        for at, text, how in texts:
            page.insert_text(at, text, **{"fontsize": 11, "lineheight": 1.5, **how})
        pixmap = page.get_pixmap(dpi=72 * PX_PER_PT, colorspace=pymupdf.csGRAY)
    return np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width).copy()


def read(grey: UInt8Array, reader: LineReader) -> tuple[ParsedText, list[TurnedLines]]:
    darkness = darkness_of(grey)
    found = reader.read(darkness, reader.find(darkness))
    turned = turned_lines(grey, PageInk.of(grey), found, reader)
    return page_text(without_turned(found, turned), turned), turned


def skew(grey: UInt8Array, reader: LineReader) -> float:
    return skew_of(grey, PageInk.of(grey), reader.find(darkness_of(grey)), reader)


def level_sheet() -> UInt8Array:
    return drawn(*(((60, 40 + 50 * at), text, {}) for at, text in enumerate((ABOVE, BELOW, ABOVE, BELOW))))


def degrees_off(page: UInt8Array, tilt_deg: int, reader: LineReader) -> float:
    return abs((skew(page, reader) + tilt_deg + 180) % 360 - 180)


@pytest.mark.parametrize("tilt_deg", [-40, -12, 9, 30, 168])
def test_a_sheet_that_lies_askew_is_turned_until_it_is_upright(reader: LineReader, tilt_deg: int) -> None:
    assert degrees_off(rotated(level_sheet(), tilt_deg), tilt_deg, reader) <= 1


def test_a_sheet_that_lies_askew_on_a_dark_table_is_turned(reader: LineReader) -> None:
    table = Image.new("L", (1600, 1400), 40)
    sheet = Image.fromarray(level_sheet())
    paper = Image.new("L", sheet.size, 255).rotate(-14, expand=True)
    table.paste(sheet.rotate(-14, Image.Resampling.BICUBIC, expand=True), (300, 250), paper)
    assert degrees_off(np.asarray(table), 14, reader) <= 1


@pytest.mark.parametrize("tilt_deg", [8, -9])
def test_type_of_one_width_whose_letters_stand_in_columns_is_not_turned_on_its_side(
    reader: LineReader, tilt_deg: int
) -> None:
    names = ("SEED POTATO", "BRAKE PADS", "TWINE 20M")
    rows = "\n".join(f"{names[at % 3]:12}{12 * at:3}.{at % 10}5" for at in range(12))
    sheet = drawn(((60, 30), rows, {"fontname": "cour", "fontsize": 9, "lineheight": 1.1}))
    assert degrees_off(rotated(sheet[:, :470], tilt_deg), tilt_deg, reader) <= 1


def test_level_sheets_stay_whatever_else_is_slanted_on_them(reader: LineReader) -> None:
    sheet = drawn(((60, 40), ABOVE, {}), ((60, 120), "7 rolls", {}))
    tilted = rotated(drawn(((20, 100), "Not to be taken out of this room", {"fontsize": 20})), -25)
    stamped = np.minimum(sheet, tilted[100:700, 100:900])
    few = drawn(
        ((60, 40), "Rolls", {}), ((200, 40), "12", {}), ((60, 90), "Loaves", {}), ((200, 90), "7", {})
    )
    empty = np.full_like(sheet, 255)
    assert [skew(page, reader) for page in (sheet, stamped, few, rotated(few, 3), empty)] == [0.0] * 5


@pytest.mark.parametrize(
    ("font", "size", "at", "rotate"),
    [("helv", 12, (30, 280), 90), ("tiro", 11, (375, 20), 270), ("cour", 10, (28, 290), 90)],
)
def test_a_line_in_the_margin_is_read_behind_what_it_stands_beside(
    reader: LineReader, font: str, size: float, at: tuple[float, float], rotate: int
) -> None:
    note = "Filed under number 2846 of the north"
    side = (at, note, {"fontname": font, "fontsize": size, "rotate": rotate})
    parsed, _ = read(drawn(((60, 40), ABOVE, {}), side, ((60, 120), BELOW, {})), reader)
    assert parsed.text == f"{ABOVE}\n\n{BELOW}\n\n{note}"
    assert [word.text for word in parsed.words] == parsed.text.split()
    x0, y0, x1, y1 = parsed.words[-1].box_px or (0, 0, 0, 0)
    assert x0 - 10 < PX_PER_PT * at[0] < x1 + 10
    assert 0 <= y0 < y1 <= 600
    assert y1 - y0 > x1 - x0, "a word of five letters on its side"


@pytest.mark.parametrize(("size", "rotate"), [(8, 270), (20, 90), (28, 90)])
def test_one_line_as_on_a_poster_is_read_too(reader: LineReader, size: float, rotate: int) -> None:
    """It is larger or shorter than what tells which way up a page is: its letters are a column of single marks."""
    at = (340, 270 if rotate == 90 else 60)
    date = (at, "12 - 14 AUGUST", {"fontsize": size, "rotate": rotate})
    parsed, turned = read(drawn(((30, 40), ABOVE, {}), ((30, 120), BELOW, {}), date), reader)
    assert parsed.text == f"{ABOVE}\n\n{BELOW}\n\n12 - 14 AUGUST"
    assert [part.turn_deg for part in turned] == [rotate]


def test_rows_of_a_table_on_its_side_are_rows(reader: LineReader) -> None:
    rows = [("Pasture", "Acres", "Sheep"), ("Upper Leas", "214", "80"), ("Long Meadow", "97", "35")]
    cells = [
        ((140 + 30 * number, 280 - 75 * place), cell, {"rotate": 90})
        for number, row in enumerate(rows)
        for place, cell in enumerate(row)
    ]
    parsed, _ = read(drawn(((60, 30), ABOVE, {}), *cells), reader)
    assert parsed.text.replace("\t", " ").split("\n\n", 1) == [ABOVE, "\n".join(map(" ".join, rows))]


def test_a_half_that_stands_on_its_head_comes_before_what_is_below_it(reader: LineReader) -> None:
    upper = np.rot90(drawn(((60, 200), ABOVE, {})), 2)
    page = np.minimum(upper, drawn(((60, 220), f"{BELOW}\nPlease close it behind you when you leave.", {})))
    parsed, turned = read(page, reader)
    assert parsed.text.startswith(f"{ABOVE}\n\n{BELOW}\n")
    assert [part.turn_deg for part in turned] == [180]


def test_a_line_on_its_head_is_whole_beside_one_on_its_side(reader: LineReader) -> None:
    """As it stands, half of it is read with 0.94."""
    below = np.rot90(
        drawn(((60, 40), "Printed by Tollund and Sons of Ribe", {"fontname": "tiro", "fontsize": 14})), 2
    )
    margin = ((30, 240), "Harbour archive, folder 318", {"rotate": 90, "fontsize": 12})
    parsed, turned = read(np.minimum(below, drawn(((60, 40), f"{ABOVE}\n{BELOW}", {}), margin)), reader)
    assert sorted(parsed.text.split("\n\n")[1:]) == [margin[1], "Printed by Tollund and Sons of Ribe"]
    assert {part.turn_deg for part in turned} == {90, 180}


def test_ink_of_a_single_row_is_no_turned_line(reader: LineReader) -> None:
    sheet = drawn(((60, 40), ABOVE, {}))
    ink, found = PageInk.of(sheet), reader.read(darkness_of(sheet), reader.find(darkness_of(sheet)))
    ink.text[-30, 20:80] = True
    assert turned_lines(sheet, ink, found, reader) == []


def test_an_upright_page_is_not_looked_at_again(reader: LineReader, monkeypatch: pytest.MonkeyPatch) -> None:
    page = drawn(((60, 40), ABOVE, {}), ((60, 120), BELOW, {}), ((60, 200), "14 9 6 11 8", {}))
    darkness = darkness_of(page)
    found = reader.read(darkness, reader.find(darkness))
    monkeypatch.setattr(reader, "find", None)
    assert turned_lines(page, PageInk.of(page), found, reader) == []


@pytest.mark.parametrize(
    ("turn_deg", "box"), [(90, (20, 270, 60, 290)), (180, (170, 240, 190, 280)), (270, (140, 10, 180, 30))]
)
def test_boxes_are_turned_back(turn_deg: int, box: tuple[int, ...]) -> None:
    """The page as it stands is 200 x 300."""
    line = TextLine(left=10, right=30, baseline=np.full(20, 20 + 0.77 * 40, np.float32), size=40.0)
    own = ReadLine(line=line, text="a", confidence=1.0)
    found = TurnedLines(turn_deg=turn_deg, lines=(own,), width_px=200, height_px=300)
    assert found.boxes == [pytest.approx(box)]


def test_a_row_of_codes_that_was_missed_is_not_upside_down(reader: LineReader) -> None:
    rows = [ABOVE, "ZR/13359/X JH/53978/D 73967321 09019", BELOW]
    page = drawn(
        *(((30, 40 + 60 * n), row, {"fontsize": 12, "fontname": "tiro"}) for n, row in enumerate(rows))
    )
    darkness = darkness_of(page)
    found = [its for its in reader.read(darkness, reader.find(darkness)) if its.text != rows[1]]
    assert turned_lines(page, PageInk.of(page), found, reader) == []


@pytest.mark.parametrize("turn_deg", [17.0, -8.5, 90.0])
def test_what_was_rotated_is_placed_where_it_stands(turn_deg: float) -> None:
    part = Image.new("L", (320, 200))
    part.paste(255, (140, 60, 152, 66))
    turned = part.rotate(-turn_deg, Image.Resampling.BILINEAR, expand=True)
    lines = TurnedLines(turn_deg=turn_deg, lines=(), width_px=320, height_px=200, left=50, top=70)
    box = lines.as_it_stands(Image.eval(turned, lambda grey: 255 * (grey > 128)).getbbox() or (0, 0, 0, 0))
    assert ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2) == pytest.approx((50 + 146, 70 + 63), abs=1.5)


def figures(font: str, angle_deg: int) -> tuple[UInt8Array, set[str]]:
    """A table of figures that was turned counterclockwise by so much, and the figures."""
    random = np.random.default_rng(3)
    rows = [
        (30 + 60 * column, 30 + 18 * row, str(random.integers(1000, 9999)))
        for row in range(8)
        for column in range(6)
    ]
    page = drawn(*(((x, y), text, {"fontname": font}) for x, y, text in rows))
    return np.ascontiguousarray(np.rot90(page, angle_deg // 90)), {text for _, _, text in rows}


@pytest.mark.parametrize(
    "font", ["cour", *(pytest.param(font, marks=pytest.mark.slow) for font in ("helv", "tiro"))]
)
@pytest.mark.parametrize(
    ("angle_deg", "doubt_deg"), [(90, 90), (90, 270), (180, 180), (180, None), (270, 90)]
)
def test_figures_are_read_the_right_way_up(
    reader: LineReader, font: str, angle_deg: int, doubt_deg: int | None
) -> None:
    """Upside down they are read too, as others: 9 for 6, and the one for the other direction of lines on their side."""
    grey, drawn = figures(font, angle_deg)
    darkness = darkness_of(grey)
    found = reader.read(darkness, reader.find(darkness))
    turned = turned_lines(grey, PageInk.of(grey), found, reader, doubt_deg)
    right = {line.text for own in turned if own.turn_deg == angle_deg for line in own.lines}
    wrong = [line for own in turned if own.turn_deg != angle_deg for line in own.lines]
    assert len(right & drawn) >= 46
    assert not wrong
    assert len(without_turned(found, turned)) <= 3
