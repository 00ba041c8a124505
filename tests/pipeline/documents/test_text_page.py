import pymupdf
import pytest

from pipeline.documents.pdf import is_drawn, open_text, text_spans


@pytest.fixture
def page():
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=600)
        page.insert_text((50, 100), "shown")
        page.insert_text((50, 200), "hidden", render_mode=3)
        page.insert_text((450, 300), "off the page")
        yield page


@pytest.mark.parametrize("with_chars", [False, True])
def test_spans_of_what_is_on_the_page(page, with_chars):
    found = [span for _, span in text_spans(open_text(page.get_displaylist()), with_chars=with_chars)]
    texts = ["".join(char["c"] for char in span["chars"]) if with_chars else span["text"] for span in found]
    assert texts == ["shown", "hidden"]
    assert [is_drawn(span) for span in found] == [True, False]


def test_characters_that_map_to_no_letter():
    with pymupdf.open() as document:
        page = document.new_page()
        page.insert_font(fontname="F0", fontbuffer=pymupdf.Font("cjk").buffer)
        page.insert_text((50, 100), "ab", fontname="F0")
        for number in range(1, document.xref_length()):
            if document.xref_get_key(number, "ToUnicode")[0] != "null":
                document.xref_set_key(number, "ToUnicode", "null")
        display = document.load_page(0).get_displaylist()
        assert open_text(display).extractText().strip() == "\ufffd\ufffd"
        assert "\ufffd" not in open_text(display, codes_for_unmapped=True).extractText()
