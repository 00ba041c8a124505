from pipeline.text_layer.extract.spans import as_text, clean
from tests.pipeline.text_layer.extract.text_pages import line


def test_lines_paragraphs_and_cells():
    lines = [
        line("Heading", 50, 100),
        line("first line", 50, 130),
        line("second", 50, 142),
        line("part", 82, 142),
        line("s", 102, 142),
        line("far", 300, 142),
        line("other column", 300, 60),
    ]
    assert as_text(lines) == "Heading\n\nfirst line\nsecond parts\tfar\n\nother column"


def test_the_raised_letter_within_another_of_a_logo_goes_on_with_its_word():
    logo = [line("with L", 50, 100), line("A", 76.4, 98, size=7.0), line("TEX", 80, 100)]
    assert as_text(logo) == "with LATEX"


def test_a_blank_at_the_end_of_a_part_is_the_only_one_there():
    assert (
        as_text([line("within ", 50, 100, 83), line("30", 86, 100), line(" days", 98, 100)])
        == "within 30 days"
    )


def test_ligatures_hyphens_spaces_and_controls():
    assert clean("ﬁnd\u00a0e\u0301t\u2010à\x00\u200b") == "find ét-à"
