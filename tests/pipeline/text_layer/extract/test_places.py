"""Values of forms stand beside their labels, not behind all that is printed."""

from typing import Any

import pymupdf
import pytest

from pipeline.text_layer.extract.places import composed
from pipeline.text_layer.extract.spans import Glyph, read_spans
from pipeline.text_layer.page import judged


def field(
    page: Any, name: str, box: tuple[float, float, float, float], value: str | bool, **how: Any
) -> None:
    widget = pymupdf.Widget()
    widget.field_name, widget.rect, widget.field_value = name, pymupdf.Rect(box), value
    is_tick = isinstance(value, bool)
    widget.field_type = pymupdf.PDF_WIDGET_TYPE_CHECKBOX if is_tick else pymupdf.PDF_WIDGET_TYPE_TEXT
    widget.text_fontsize = 0 if is_tick else 10
    for key, one in how.items():
        setattr(widget, key, one)
    page.add_widget(widget)


def lines_of(document: Any) -> list[str]:
    found = judged(document, 0, 144.0)
    assert found is not None
    return [line.replace("\t", " ") for line in found.text.splitlines() if line]


def test_values_of_fields_and_ticks() -> None:
    with pymupdf.open() as document:
        page = document.new_page(width=420, height=400)
        for x, y, text in (
            (60, 60, "Boat:"), (260, 60, "Length in feet:"), (60, 100, "Owner:"), (60, 140, "Remarks:"),
            (90, 230, "insured"), (60, 300, "Signed at the quay"),
        ):  # fmt: skip
            page.insert_text((x, y), text, fontsize=10)
        field(page, "owner", (130, 88, 350, 104), "Ida Trelawny")
        field(page, "boat", (130, 48, 250, 64), "Curlew")
        field(page, "length", (350, 48, 400, 64), "31")
        field(
            page, "remarks", (60, 145, 380, 190), "Needs a new mast\nand two sails",
            field_flags=pymupdf.PDF_TX_FIELD_IS_MULTILINE,
        )  # fmt: skip
        field(page, "insured", (60, 220, 74, 234), True)
        assert lines_of(document) == [
            "Boat: Curlew Length in feet: 31", "Owner: Ida Trelawny", "Remarks:", "Needs a new mast", "and two sails",
            "✓ insured", "Signed at the quay",
        ]  # fmt: skip


def test_notes_typed_onto_a_page() -> None:
    with pymupdf.open() as document:
        page = document.new_page(width=420, height=300)
        for y, text in ((60, "Name"), (100, "Street"), (140, "Town")):
            page.insert_text((60, y), text, fontsize=11)
        page.add_freetext_annot(pymupdf.Rect(130, 88, 330, 106), "Fore Street 9", fontsize=11)
        assert lines_of(document) == ["Name", "Street Fore Street 9", "Town"]


SIZE = 11.0


def words(*parts: tuple[str, str], before: bool = True, font: str = "tiro", apart: float = 0.0) -> str:
    """Returns the text of a line set as TeX does: each part's letters, with an accent over the first of them.

    before: whether the accent is drawn before its letter. apart: how far beside it, in points.
    """
    used, x, y = pymupdf.Font(font), 60.0, 100.0
    with pymupdf.open() as made:
        page = made.new_page(width=400, height=200)
        for accent, letters in parts:
            writer = pymupdf.TextWriter(page.rect)
            middle = used.text_length(letters[0], SIZE) / 2 if letters else 0.0
            over = (x + middle - used.text_length(accent, SIZE) / 2 + apart, y) if accent else (x, y)
            for text, at in [(accent, over), (letters[:1], (x, y))][:: 1 if before else -1]:
                if text:
                    writer.append(at, text, font=used, fontsize=SIZE)
            x += used.text_length(letters[:1], SIZE)
            if letters[1:]:
                writer.append((x, y), letters[1:], font=used, fontsize=SIZE)
            x += used.text_length(letters[1:], SIZE)
            writer.write_text(page)
        layer = judged(pymupdf.open("pdf", made.tobytes()), 0, 144)
    assert layer is not None
    return layer.text


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([("", "M"), ("¨", "oglichkeiten")], "Möglichkeiten"),
        ([("", "Proc"), ("´", "edure")], "Procédure"),
        ([("", "tr"), ("`", "es f"), ("ˆ", "ete")], "très fête"),
        ([("", "Espa"), ("˜", "na")], "España"),
        ([("", "fa"), ("¸", "cade")], "façade"),
        ([("ˇ", "Skoda, Ju"), ("ˇ", "ra")], "Škoda, Juřa"),
        ([("", "Gr"), ("˚", "an"), ("¨", "as")], "Grånäs"),
        ([("", "na"), ("¨", "ıve")], "naïve"),
        ([("", "E"), ("´", "en"), ("", " Erd"), ("˝", "os")], "Eén Erdős".replace("Eén", "Eén")),
        ([("", "z"), ("˙", "zy"), ("", "k"), ("˛", "a")], "zżyką"),
    ],
)  # fmt: skip
def test_an_accent_joins_the_letter_it_stands_over(
    parts: list[tuple[str, str]], expected: str, before: bool
) -> None:
    assert words(*parts, before=before) == expected


def test_the_way_to_an_accent_at_its_letter_s_edge_is_no_space() -> None:
    for apart in (1.5, 2.5, 3.0):
        assert words(("", "posiadaj"), ("˛", "a i"), apart=apart) == "posiadają i"


def test_a_letter_in_a_circle_is_one_sign() -> None:
    with pymupdf.open() as made:
        page = made.new_page()
        page.insert_text((50, 100), "c 1987")
        (span,) = read_spans(page.get_displaylist())
    circle = Glyph(text="\u20dd", box=span.chars[0].box)
    (found,) = composed([span.of([span.chars[0], circle, *span.chars[1:]])])
    assert found.line.text == "© 1987"


def test_an_accent_beside_its_neighbours_stays() -> None:
    assert words(("", "10^8 x~y `ls`"), font="cour") == "10^8 x~y `ls`"
    assert words(("", "a"), ("¨", "o"), apart=9.0).replace(" ", "") != "aö"


def test_a_line_without_accents_is_returned_as_it_is() -> None:
    with pymupdf.open() as made:
        page = made.new_page()
        page.insert_text((50, 100), "plain words")
        spans = read_spans(page.get_displaylist())
    assert composed(spans) == spans
