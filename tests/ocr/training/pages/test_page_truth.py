import numpy as np
import pymupdf
import pytest

from ocr.training.pages.page_truth import Sheet, UnreadableError, extract, transform


def page(*texts: tuple[tuple[float, float], str], **options: object) -> pymupdf.Page:
    document = pymupdf.open()
    made = document.new_page(width=400, height=300)
    for point, text in texts:
        made.insert_text(point, text, fontsize=12, **options)
    return made


def test_lines_paragraphs_and_columns_become_line_breaks() -> None:
    sheet = Sheet.of(
        page(((20, 40), "one two"), ((20, 54), "three"), ((20, 90), "four"), ((220, 40), "five"))
    )
    assert extract(sheet).text == "one two\nthree\n\nfour\n\nfive"


def test_pieces_of_one_line_are_joined_by_a_space() -> None:
    assert extract(Sheet.of(page(((20, 40), "Total"), ((200, 40), "12.50")))).text == "Total 12.50"


def test_marks_have_boxes_where_they_stand_and_spaces_have_none() -> None:
    glyphs = extract(Sheet.of(page(((20, 40), "ab cd"))))
    assert np.isnan(glyphs.box_pt[2]).all()
    marked = glyphs.box_pt[[0, 1, 3, 4]]
    assert (np.diff(marked[:, 0]) > 0).all()
    assert marked[0, 0] == pytest.approx(20, abs=0.1)
    assert (marked[:, 1] > 40 - 12).all()
    assert (marked[:, 3] < 40 + 2).all()


def test_vertical_text_is_no_truth() -> None:
    with pytest.raises(UnreadableError):
        extract(Sheet.of(page(((40, 200), "upwards and away"), rotate=90)))


def test_transform_follows_the_render_matrix() -> None:
    glyphs = extract(Sheet.of(page(((20, 40), "x"))))
    box = transform(glyphs, pymupdf.Matrix(2, 3) * pymupdf.Matrix(1, 0, 0, 1, 5, 7))
    x0, y0, x1, y1 = glyphs.box_pt[0]
    np.testing.assert_allclose(box[0], [2 * x0 + 5, 3 * y0 + 7, 2 * x1 + 5, 3 * y1 + 7], rtol=1e-5)
