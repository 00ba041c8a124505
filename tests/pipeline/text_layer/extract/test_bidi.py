"""Lines from right to left: the text is in the order in which it is read, however its pieces were drawn."""

from dataclasses import replace

import pymupdf
import pytest

from ocr.paragraphs.text_lines import Line
from pipeline.text_layer.extract.bidi import backward_share, in_reading_order
from pipeline.text_layer.extract.spans import Glyph, Span
from pipeline.text_layer.page import judged


def span(text: str, x0: float, *, leftward: bool = False, base: float = 100.0) -> Span:
    """Ten points a character, stored in reading order: drawn from x0 to the right, or ending there."""
    order = list(reversed(range(len(text)))) if leftward else list(range(len(text)))
    chars = tuple(
        Glyph(text=letter, box=(x0 + 10.0 * place, base - 10, x0 + 10.0 * place + 10, base))
        for letter, place in zip(text, order, strict=True)
    )
    x1 = x0 + 10.0 * len(text)
    return Span(
        line=Line(text=text, spans=((x0, x1),), base=base, size=12.0),
        box=(x0, base - 10, x1, base),
        font="font",
        chars=chars,
        glyphs=tuple(char for char in chars if not char.text.isspace()),
        grey=0,
        is_drawn=True,
        turn_deg=0,
    )


def read(*spans: Span) -> list[str]:
    return [one.line.text for one in in_reading_order(spans)]


def test_pieces_drawn_from_left_to_right_are_read_from_right_to_left() -> None:
    # Shown: .הנשב 1234 רפסמ
    drawn = [
        span(".", 0),
        span(" בשנה", 10, leftward=True),
        span("1234", 60),
        span("מספר ", 100, leftward=True),
    ]
    assert read(*drawn) == ["מספר 1234 בשנה."]
    assert read(*reversed(drawn)) == ["מספר 1234 בשנה."]


def test_words_in_latin_letters_stay_together_in_a_line_from_right_to_left() -> None:
    drawn = [span("תוכנה ", 150, leftward=True), span("Open Source", 40), span(" טובה", -10, leftward=True)]
    above = span("זו שורה ארוכה", 0, leftward=True, base=80.0)
    assert read(above, *drawn) == ["זו שורה ארוכה", "תוכנה Open Source טובה"]


def test_a_quotation_from_right_to_left_in_a_line_from_left_to_right() -> None:
    drawn = [
        span("he said ", 10),
        span("שלום", 130, leftward=True),
        span(" ", 120),
        span("רבה", 90, leftward=True),
    ]
    more = span(" and left", 170)
    assert read(*drawn, more) == ["he said שלום רבה and left"]


def test_arabic_digits_run_from_left_to_right() -> None:
    turned = span("١٢٣٤", 0)
    turned = replace(turned, chars=turned.chars[::-1])
    assert read(span("سنة ", 40, leftward=True), turned) == ["سنة ١٢٣٤"]


def test_letters_as_they_are_shaped_in_a_word_are_the_letters() -> None:
    assert read(span("ﺳﻨﺔ", 0, leftward=True)) == ["سنة"]


def test_brackets_that_are_stored_as_they_look_open_before_they_close() -> None:
    drawn = [span("אבג ", 60, leftward=True), span("(", 10), span("דהו", 20, leftward=True), span(")", 50)]
    assert read(*drawn) == ["אבג (דהו)"]


def test_lines_without_such_letters_stay_as_they_are() -> None:
    spans = [span("one ", 0), span("two", 40), span("three", 0, base=114.0)]
    assert in_reading_order(spans) == spans
    assert backward_share(spans) == 0.0


@pytest.mark.parametrize(("leftward", "share"), [(True, 0.0), (False, 1.0)])
def test_letters_that_are_stored_the_other_way_are_found(leftward: bool, share: float) -> None:
    assert backward_share([span("שלום", 0, leftward=leftward)]) == share


@pytest.mark.parametrize(
    ("direction", "text", "script"),
    [
        ("rtl", "בבוקר מוקדם הנמל היה שקט, והסירות עדיין היו כבדות. מספר 1234 בשנה.", "Hebr"),
        ("rtl", "في مدينتنا مكتبة كبيرة وهي مفتوحة من صباح حتى مساء، رقم 1234 في سنة.", "Arab"),
        ("ltr", "सुबह बंदरगाह शांत था और हम सब गाँव से आए, बाज़ार अब तक बंद था। सुबह बंदरगाह शांत था।", "Deva"),
    ],
)
def test_a_page_in_another_script_is_its_text(direction: str, text: str, script: str) -> None:
    with pymupdf.open() as made:
        page = made.new_page(width=400, height=400)
        page.insert_htmlbox((40, 40, 360, 360), f'<p dir="{direction}">{text}</p>')
        with pymupdf.open("pdf", made.tobytes()) as document:
            layer = judged(document, 0, 144)
    assert layer is not None
    assert (layer.is_trustworthy, layer.script) == (True, script), layer.reason
    assert " ".join(layer.text.split()) == text


def test_a_number_is_whole_whatever_typefaces_it_is_set_in() -> None:
    # Shown: .14/03/2024 ךיראת
    drawn = [
        span("תאריך ", 110, leftward=True),
        span("14", 10),
        span("/", 30),
        span("03", 40),
        span("/", 60),
        span("2024", 70),
    ]
    assert read(*drawn, span(".", 0)) == ["תאריך 14/03/2024."]


def test_a_hyphen_between_numbers_joins_them_in_hebrew_and_parts_them_in_arabic() -> None:
    # Shown: 03-1234 רפסמ, and 1234-03 مقر
    assert read(span("מספר ", 70, leftward=True), span("03", 0), span("-", 20), span("1234", 30)) == [
        "מספר 03-1234"
    ]
    assert read(span("رقم ", 70, leftward=True), span("1234", 0), span("-", 40), span("03", 50)) == [
        "رقم 03-1234"
    ]


def test_a_bracket_before_words_in_latin_letters_gets_no_space() -> None:
    # Shown: ةديفم (English books) بتك
    drawn = [
        span(" مفيدة", 0, leftward=True),
        span(")English books(", 60),
        span("كتب ", 210, leftward=True),
    ]
    above = span("هذا سطر آخر من النص", 0, leftward=True, base=80.0)
    assert read(above, *drawn)[1:] == ["كتب (English books) مفيدة"]
