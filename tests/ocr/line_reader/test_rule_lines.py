"""Rules give no characters, drawn or typed, and what only resembles them is text: with the shipped networks."""

import numpy as np
import pymupdf
import pytest

from ocr.line_reader.found_lines import ReadLine, TextLine
from ocr.line_reader.page_text import page_text
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.line_reader.rule_lines import Marks, is_ornament, rules_among
from ocr.types import ParsedText

ABOVE, BELOW = "Minutes of the harbour board", "Three tenders were opened"
X0, X1 = 40.0, 380.0


def page(*more: str) -> pymupdf.Page:
    """Returns a page with a line above the middle, one below, and more below that, 50 points apart."""
    sheet = pymupdf.open().new_page(width=420, height=160 + 50 * len(more))
    for number, text in enumerate((ABOVE, BELOW, *more)):
        sheet.insert_text((X0, 60 + 50 * number), text, fontsize=11, fontname="tiro")
    return sheet


def read(reader: LineReader, sheet: pymupdf.Page, dpi: int = 200) -> ParsedText:
    pixels = sheet.get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY)
    darkness = darkness_of(np.frombuffer(pixels.samples, np.uint8).reshape(pixels.height, pixels.width))
    return page_text(reader.read(darkness, reader.find(darkness)))


def test_a_border_repeats_itself_and_text_does_not() -> None:
    rng = np.random.default_rng(1)
    motifs, letters = rng.random((40, 60), np.float32), rng.random((40, 720), np.float32)
    worn = np.tile(motifs, 12) + rng.normal(0, 0.15, (40, 720)).astype(np.float32)
    assert is_ornament(worn)
    assert not is_ornament(letters)
    assert not is_ornament(motifs)


@pytest.mark.parametrize("dpi", [120, 200])
@pytest.mark.parametrize(
    ("width", "dashes"),
    [
        (1, "[3 2] 0"),
        (1, "[1 2] 0"),
        (1.5, "[1.5 3] 0"),
        (1, "[6 2 1 2] 0"),
        (0.7, "[2 1] 0"),
        (1, "[5 4] 0"),
    ],
)
def test_drawn_rules_are_no_text(reader: LineReader, width: float, dashes: str, dpi: int) -> None:
    sheet = page()
    for y in (20, 85, 130):
        sheet.draw_line((X0, y), (X1, y), width=width, dashes=dashes)
    assert read(reader, sheet, dpi).text.split("\n\n") == [ABOVE, BELOW]


@pytest.mark.parametrize("mark", ["-", "=", "*", "_", "~", "#", "- ", "* "])
def test_typed_rules_are_no_text(reader: LineReader, mark: str) -> None:
    more = "The lamp is lit at nine", "Nobody was late"
    sheet = page(*more)
    for number, font in enumerate(("cour", "helv", "tiro")):
        count = int((X1 - X0) / pymupdf.get_text_length(mark, font, 11))
        sheet.insert_text((X0, 86 + 50 * number), mark * count, fontsize=11, fontname=font)
    assert read(reader, sheet).text.split("\n\n") == [ABOVE, BELOW, *more]


@pytest.mark.parametrize(
    "text",
    [
        "0 0 0 0 0 0 0 0 0 0 0 0 0 0",
        "1 1 1 1 1 1 1 1 1 1 1 1",
        "No. 0000000000",
        "* * *",
        "Wait ...",
        "nnnnnnnnnnnnnnnn",
    ],
)
def test_even_text_is_text(reader: LineReader, text: str) -> None:
    sheet = page()
    sheet.insert_text((X0, 86), text, fontsize=11, fontname="cour")
    found = "".join(read(reader, sheet).text.split())
    assert found == "".join((ABOVE + text + BELOW).split())


def test_dots_between_a_title_and_its_page_stay(reader: LineReader) -> None:
    sheet = page()
    sheet.insert_text((X0, 86), "Dredging" + 60 * " ." + " 14", fontsize=11, fontname="tiro")
    assert [line.count(".") > 40 for line in read(reader, sheet).text.split("\n\n")] == [False, True, False]


def test_words_keep_their_places_beside_a_rule(reader: LineReader) -> None:
    sheet = page()
    sheet.draw_line((X0, 85), (X1, 85), dashes="[3 2] 0")
    parsed = read(reader, sheet)
    assert [word.text for word in parsed.words] == parsed.text.split()


def test_a_dashed_frame_leaves_what_stands_in_it(reader: LineReader) -> None:
    sheet = page()
    sheet.draw_rect((X0 - 12, 92, X1, 120), width=0.7, dashes="[2 2] 0")
    text = read(reader, sheet).text
    assert not set(text) & set("-–—_.,·")
    assert [word for word in text.split() if len(word) > 1] == [*ABOVE.split(), *BELOW.split()]


@pytest.mark.parametrize(
    ("text", "confidence", "likeness", "is_rule"),
    [
        ("12 Empioyer", 0.73, 0.48, False),  # unsure text that a form's rule runs through is text
        ("0 0 0 0 0 0 0 0", 0.95, 0.99, False),
        ("e o e o o e o o o e o", 0.5, 0.99, True),
        ("- - - - - - -", 0.97, 0.3, True),
    ],
)
def test_what_is_read_with_confidence_or_is_uneven_is_text(
    text: str, confidence: float, likeness: float, is_rule: bool
) -> None:
    line = TextLine(left=0, right=400, baseline=np.full(400, 50, np.float32), size=25.0)
    lines = [ReadLine(line=line, text=text, confidence=confidence)]
    assert list(rules_among(lines, [Marks(0.13, likeness)])) == ([0] if is_rule else [])
