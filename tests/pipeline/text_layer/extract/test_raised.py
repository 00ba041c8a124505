"""Raised figures are not those beside them, and a large initial is a letter of its word."""

from typing import Any

import pymupdf
import pytest

from tests.pipeline.text_layer.extract.text_pages import PROSE, layer_of


def put(page: Any, x: float, y: float, parts: list[tuple[str, float, float]], font: str = "helv") -> None:
    """Writes parts of a line: text, size, and how far it is raised."""
    for text, size, rise in parts:
        page.insert_text((x, y - rise), text, fontsize=size, fontname=font)
        x += pymupdf.get_text_length(text, font, size)


@pytest.mark.parametrize(("font", "size"), [("tiro", 9.0), ("helv", 12.0), ("cour", 10.0), ("hebo", 14.0)])
@pytest.mark.parametrize("small", [0.58, 0.7, 0.83])
def test_exponents_and_marks_of_notes_are_raised(font: str, size: float, small: float) -> None:
    def draw(page: Any) -> None:
        up = (size * small, size / 3)
        put(
            page, 50, 60, [("The star is 4.2 x 10", size, 0), ("-13", *up), (" parsecs away,", size, 0)], font
        )
        put(page, 50, 90, [("as was known in 1908", size, 0), ("4", *up), (",", *up), ("5", *up)], font)
        put(page, 50, 500, [("4", *up), (" Lind, in a letter.", size, 0)], font)

    layer = layer_of(draw)
    assert "10⁻¹³ parsecs" in layer.text
    assert "1908⁴,⁵" in layer.text
    assert "⁴ Lind" in layer.text
    for text in ("10⁻¹³", "1908⁴,⁵", "⁴ Lind"):
        assert text in layer.markdown


def test_figures_on_the_line_below_it_or_apart_are_as_they_were() -> None:
    def draw(page: Any) -> None:
        put(
            page,
            50,
            60,
            [("H", 12, 0), ("2", 8, -3), ("O and the 1", 12, 0), ("st", 8, 4), (" of May", 12, 0)],
        )
        put(page, 50, 90, [("Ward", 12, 0), (" 12", 8, 0), (" of 40", 12, 0)])
        page.insert_text((50, 130), "Total", fontsize=12)
        page.insert_text((200, 126), "77", fontsize=8)

    text = layer_of(draw).text
    assert "H2O and the 1st of May" in text
    assert "Ward 12 of 40" in text
    assert text.endswith("77")


@pytest.mark.parametrize(
    ("initial", "size", "first"),
    [("W", 34, "inter came early"), ("Ö", 52, "rtlich fiel"), ("B", 40, "UT NO boat")],
)
def test_an_initial_is_a_letter_of_its_word(initial: str, size: float, first: str) -> None:
    def draw(page: Any) -> None:
        right = 50 + pymupdf.get_text_length(initial, "tibo", size) + 2
        page.insert_text((50, 60 + 0.7 * size), initial, fontsize=size, fontname="tibo")
        for number, line in enumerate((first, "that year, and the ice", "held until the middle of")):
            page.insert_text((right, 67 + 13 * number), line, fontsize=10, fontname="tiro")
        page.insert_textbox((50, 110, 450, 400), PROSE, fontsize=10, fontname="tiro")

    layer = layer_of(draw)
    assert layer.text.startswith(f"{initial}{first}\nthat year, and the ice\n")
    assert "#" not in layer.markdown
    assert {block.label for block in layer.blocks} == {"text"}


def test_an_initial_that_is_a_word_stays_one_where_the_next_word_is_known() -> None:
    def draw(page: Any) -> None:
        page.insert_text((50, 88), "A", fontsize=40, fontname="tibo")
        page.insert_text((82, 67), "harbour is quiet", fontsize=10, fontname="tiro")
        page.insert_textbox((50, 110, 450, 400), PROSE, fontsize=10, fontname="tiro")

    assert layer_of(draw).text.startswith("A harbour is quiet")


def test_a_large_letter_that_begins_no_line_stays_a_heading() -> None:
    def draw(page: Any) -> None:
        page.insert_text((50, 60), "B", fontsize=24, fontname="hebo")
        page.insert_text((50, 85), "Bakers and brewers", fontsize=10)
        page.insert_textbox((50, 110, 450, 400), PROSE, fontsize=10)

    assert layer_of(draw).markdown.startswith("# B\n\nBakers")
