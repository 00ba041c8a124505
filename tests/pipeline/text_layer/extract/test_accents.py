"""Accents that are drawn as characters of their own."""

import pymupdf
import pytest

from pipeline.text_layer.extract.accents import composed
from pipeline.text_layer.extract.spans import read_spans
from pipeline.text_layer.page import judged

SIZE = 11.0
FONT = pymupdf.Font("tiro")


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


def test_an_accent_beside_its_neighbours_stays() -> None:
    assert words(("", "10^8 x~y `ls`"), font="cour") == "10^8 x~y `ls`"
    assert words(("", "a"), ("¨", "o"), apart=9.0).replace(" ", "") != "aö"


def test_a_line_without_accents_is_returned_as_it_is() -> None:
    with pymupdf.open() as made:
        page = made.new_page()
        page.insert_text((50, 100), "plain words")
        spans = read_spans(page.get_displaylist())
    assert composed(spans) == spans
