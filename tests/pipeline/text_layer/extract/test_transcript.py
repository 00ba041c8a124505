"""A text layer's text, to the character, and its markdown."""

from collections.abc import Callable, Sequence
from typing import Any

import pymupdf
import pytest

from pipeline.text_layer.extract import ruled_tables
from pipeline.text_layer.extract.structure import structured
from storage.export.markdown import inert
from tests.pipeline.text_layer.extract.text_pages import PROSE, layer_of


def html(text: str) -> Callable[[Any], None]:
    return lambda page: page.insert_htmlbox((50, 50, 450, 650), text)


def test_headings_are_told_by_size_and_by_weight() -> None:
    layer = layer_of(
        html(f"<h1>The year in brief</h1><p>{PROSE}</p><p><b>What members asked for</b></p><p>{PROSE}</p>")
    )
    assert [(block.label, block.text) for block in layer.blocks if block.label != "text"] == [
        ("title", "The year in brief"),
        ("sub_title", "What members asked for"),
    ]
    assert layer.markdown.startswith("# The year in brief\n\n")
    assert "\n\n### What members asked for\n\n" in layer.markdown


@pytest.mark.parametrize("pitch", [1.2, 1.8, 2.2])
def test_paragraphs_stay_whole_however_far_apart_their_lines_are(pitch: float) -> None:
    paragraph = f'<p style="font-size:11px; line-height:{pitch}; margin-bottom:{pitch}em">{PROSE}</p>'
    layer = layer_of(html(paragraph * 2))
    assert [" ".join(block.text.split()) for block in layer.blocks] == [PROSE.strip()] * 2
    assert "\n\n" not in layer.blocks[0].text


def test_a_heading_is_parted_from_the_text_right_below_it() -> None:
    def draw(page: Any) -> None:
        page.insert_text((50, 100), "A short heading", fontname="hebo", fontsize=11)
        page.insert_textbox((50, 103, 450, 400), PROSE, fontsize=11)

    layer = layer_of(draw)
    assert layer.blocks[0].text == "A short heading"
    assert layer.blocks[1].text.startswith("The harbour")


def test_words_are_emphasised_and_symbols_are_not() -> None:
    layer = layer_of(
        html(
            f"<p>{PROSE} A <b>bold claim</b>, <i>at first</i>, of <i>x</i> and <b>more <i>still</i></b>.</p>"
        )
    )
    flat = " ".join(layer.markdown.split())
    assert "A **bold claim**, *at first*, of x and" in flat
    assert "**more *" not in flat
    assert "**more** ***still***" in flat
    assert "*" not in layer.text


def test_a_page_in_bold_print_emphasises_nothing() -> None:
    layer = layer_of(html(f"<p><b>{PROSE}</b></p>"))
    assert "*" not in layer.markdown


def test_links_to_pages_and_mailboxes_are_kept_and_what_runs_is_not() -> None:
    def draw(page: Any) -> None:
        page.insert_text((50, 60), "See our list of plays, or write to us, or run this.", fontsize=11)
        for words, uri in (
            ("list of plays", "https://plays.example/a (b)?q=1"),
            ("write to us", "mailto:a@b.example"),
            ("run this", "javascript:alert(1)"),
        ):
            (box,) = page.search_for(words)
            page.insert_link({"kind": pymupdf.LINK_URI, "from": box, "uri": uri})

    layer = layer_of(draw)
    expected = (
        "See our [list of plays](https://plays.example/a%20%28b%29?q=1), or [write to us](mailto:a@b.example)"
    )
    assert layer.markdown == f"{expected}, or run this."
    assert layer.text == "See our list of plays, or write to us, or run this."
    assert inert(layer.markdown) == layer.markdown


@pytest.mark.parametrize("rotation", [90, 180])
def test_links_of_a_turned_page_are_where_it_shows_them(rotation: int) -> None:
    def draw(page: Any) -> None:
        page.insert_text((250, 350), "a list of plays, and more", fontsize=11, rotate=rotation)
        (box,) = page.search_for("list of plays")
        page.insert_link({"kind": pymupdf.LINK_URI, "from": box, "uri": "https://plays.example"})

    assert "[list of plays](https://plays.example)" in layer_of(draw, rotation).markdown


def test_finding_links_looks_at_no_other_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolving the names of places, which an address has none of, took 5 s a page in a manual of 18,000."""

    def draw(page: Any) -> None:
        page.insert_text((50, 60), "a list of plays", fontsize=11)
        page.insert_link(
            {"kind": pymupdf.LINK_URI, "from": pymupdf.Rect(50, 50, 150, 65), "uri": "https://plays.example"}
        )

    monkeypatch.delattr(pymupdf.Page, "get_links")
    monkeypatch.delattr(pymupdf.Document, "resolve_names")
    assert "](https://plays.example)" in layer_of(draw).markdown


def test_lists_and_code() -> None:
    def draw(page: Any) -> None:
        page.insert_textbox((50, 50, 450, 300), PROSE, fontsize=10)
        page.insert_text((50, 330), "· longer opening hours", fontsize=10)
        page.insert_text((50, 342), "· a table to talk at", fontsize=10)
        page.insert_text((50, 400), "# make test", fontname="cour", fontsize=10)
        page.insert_text((50, 412), "ls *.py", fontname="cour", fontsize=10)

    layer = layer_of(draw)
    assert [block.label for block in layer.blocks] == ["text", "list", "code"]
    assert layer.markdown.endswith(
        "- longer opening hours\n- a table to talk at\n\n```\n# make test\nls *.py\n```"
    )
    assert "· a table to talk at" in layer.text


@pytest.mark.parametrize(
    ("mark", "hangs"), [("· ", True), ("· ", False), ("3. ", True), ("b) ", False), ("- ", False)]
)
def test_a_paragraph_right_below_a_list_is_none_of_its_items(mark: str, hangs: bool) -> None:
    lines = [
        ("The secretary was asked for these, by letter:", 50),
        (f"{mark}longer opening hours in winter, when nights are long and the room", 50),
        ("is the only warm one", 62 if hangs else 50),
        (f"{mark}a table to talk at", 50),
        ("The committee will vote on all of them in April, when the accounts are", 50),
        ("done, and the winter is over.", 50),
    ]

    def draw(page: Any) -> None:
        for number, (line, x) in enumerate(lines):
            page.insert_text((x, 60 + 13 * number), line, fontsize=11)

    texts = [line for line, _ in lines]
    assert [block.text for block in layer_of(draw).blocks] == [
        texts[0], "\n".join(texts[1:4]), "\n".join(texts[4:]),
    ]  # fmt: skip


def test_an_indent_or_a_short_last_line_parts_paragraphs() -> None:
    full = "The boats were still heavy with their catch, and nobody spoke on the quay"

    def draw(page: Any) -> None:
        lines = [
            (62, full[2:]), (50, full), (50, "until noon."), (62, full[2:]), (50, full), (50, "or later."),
        ]  # fmt: skip
        for number, (x, line) in enumerate(lines):
            page.insert_text((x, 60 + 13 * number), line, fontsize=11)
        for number, line in enumerate([full, full, "until noon.", full, full]):
            page.insert_text((50, 300 + 13 * number), line, fontsize=11)

    assert [block.text.count("\n") for block in layer_of(draw).blocks] == [2, 2, 2, 1]


def test_a_line_of_nothing_but_spaces_is_no_text() -> None:
    def draw(page: Any) -> None:
        for number, line in enumerate(["The harbour", "   ", "lay quiet"]):
            page.insert_text((50, 60 + 13 * number), line, fontsize=11)

    assert layer_of(draw).text.split() == ["The", "harbour", "lay", "quiet"]


def test_text_that_would_be_markup_is_text() -> None:
    def draw(page: Any) -> None:
        for number, line in enumerate(
            ("# not a heading", "5 * 3 * 2 of __init__ and a_b_c", "==", "<b>plain</b>", "C:\\dir \\*"),
        ):
            page.insert_text((50, 60 + 13 * number), line, fontsize=11)

    layer = layer_of(draw)
    assert layer.text.split("\n")[0] == "# not a heading"
    assert layer.markdown.split("\n") == [
        "\\# not a heading",
        "5 \\* 3 \\* 2 of \\_\\_init\\_\\_ and a_b_c",
        "\\==",
        "\\<b>plain\\</b>",
        "C:\\dir \\\\\\*",
    ]


def ruled(page: Any, cells: list[list[str]], left: float = 60, top: float = 200) -> None:
    width, height = 120, 24
    for row, texts in enumerate(cells):
        for column, text in enumerate(texts):
            x, y = left + width * column, top + height * row
            page.draw_rect((x, y, x + width, y + height))
            page.insert_text((x + 5, y + 16), text, fontsize=10)


def test_a_ruled_table_is_rows_and_cells_and_no_character_is_lost_or_doubled() -> None:
    def draw(page: Any) -> None:
        page.insert_textbox((50, 50, 450, 180), PROSE, fontsize=10)
        ruled(page, [["Board", "Length", "Price"], ["oak", "2400 mm", "1.184,05"], ["ash", "", "97,00 <b>"]])
        page.insert_text((50, 320), "Prices without tax.", fontsize=10)

    layer = layer_of(draw)
    assert [block.label for block in layer.blocks] == ["text", "table", "text"]
    assert layer.blocks[1].text == "Board\tLength\tPrice\noak\t2400 mm\t1.184,05\nash\t\t97,00 <b>"
    rows = [line for line in layer.markdown.split("\n") if line.startswith("|")]
    assert rows == [
        "| Board | Length | Price |",
        "| --- | --- | --- |",
        "| oak | 2400 mm | 1.184,05 |",
        "| ash |  | 97,00 < b> |",
    ]
    assert layer.text.count("2400") == 1
    assert layer.text.endswith("Prices without tax.")


def test_a_cell_over_two_columns_says_so() -> None:
    def draw(page: Any) -> None:
        page.draw_rect((60, 200, 300, 224))
        page.insert_text((65, 216), "Boards and posts", fontsize=10)
        ruled(page, [["oak", "ash"], ["97", "63"]], top=224)

    layer = layer_of(draw)
    assert '<tr><th colspan="2">Boards and posts</th></tr><tr><td>oak</td><td>ash</td></tr>' in layer.markdown


def rows_of(*rows: Sequence[str]) -> Callable[[Any], None]:
    def draw(page: Any) -> None:
        for y, row in enumerate(rows):
            for x, text in enumerate(row):
                page.insert_text((60 + 120 * x, 100 + 16 * y), text, fontsize=10)

    return draw


def test_a_table_without_rules_has_cells() -> None:
    layer = layer_of(
        rows_of(("Board", "Length", "Price"), ("oak", "2400", "84"), ("ash", "", "97"), ("fir", "9", "1"))
    )
    assert [block.label for block in layer.blocks] == ["table"]
    assert layer.markdown.startswith(
        "| Board | Length | Price |\n| --- | --- | --- |\n| oak | 2400 | 84 |\n| ash |  |"
    )


def test_contents_with_leaders_are_no_table() -> None:
    dots = " . . . . . . . . . . ."
    layer = layer_of(rows_of(*((f"{n}.1", f"Part {n}{dots}", f"{n * 7}") for n in range(1, 6))))
    assert "|" not in layer.markdown
    assert "<table>" not in layer.markdown


def test_rows_without_rules_between_stand_apart_in_a_ruled_table() -> None:
    def draw(page: Any) -> None:
        for y in (80, 104, 170):
            page.draw_line((50, y), (420, y))
        for x in (50, 170, 290, 420):
            page.draw_line((x, 80), (x, 170))
        rows_of(
            ("Board", "Length", "Price"),
            ("", "", ""),
            ("oak", "2400", "84"),
            ("ash", "88", "97"),
            ("fir", "9", "1"),
        )(page)

    assert "| oak | 2400 | 84 |\n| ash | 88 | 97 |" in layer_of(draw).markdown


def test_a_frame_around_text_is_no_table() -> None:
    def draw(page: Any) -> None:
        page.draw_rect((40, 40, 460, 660))
        page.insert_textbox((50, 50, 450, 650), PROSE, fontsize=10)

    layer = layer_of(draw)
    assert {block.label for block in layer.blocks} == {"text"}


@pytest.mark.parametrize("num_lines", [0, ruled_tables._MOST])
def test_no_search_for_tables_where_there_are_no_rules_or_far_too_many(
    num_lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("it costs")

    with pymupdf.open() as made:
        page = made.new_page()
        shape = page.new_shape()
        for number in range(num_lines + 1 if num_lines else 0):
            shape.draw_line((50, 50 + number / 4), (200, 50 + number / 4))
        if num_lines:
            shape.finish()
            shape.commit()
        monkeypatch.setattr(pymupdf.Page, "find_tables", fail)
        assert structured(page, []) == ([], [])


def test_words_stand_where_mupdf_sees_them() -> None:
    def draw(page: Any) -> None:
        page.insert_htmlbox((50, 50, 450, 300), f"<h1>The first ﬁsh</h1><p>{PROSE}</p>")
        seen.extend(page.get_text("words"))

    seen: list[Any] = []
    layer = layer_of(draw)
    assert len(layer.words) == len(seen)
    for word in layer.words:
        assert word.box_px is not None
        assert any(
            text.replace("ﬁ", "fi") == word.text
            and all(abs(2 * side - own) <= 1 for side, own in zip(box, word.box_px, strict=True))
            for *box, text, _, _, _ in seen
        )


@pytest.mark.parametrize(("rotate", "sign"), [(90, -1), (270, 1)])
def test_rows_of_a_table_that_lies_on_its_side_stay_rows(rotate: int, sign: int) -> None:
    rows = [("Field", "Bushels", "Sown"), ("Upper Leas", "41", "March"), ("Long Acre", "137", "April")]

    def draw(page: Any) -> None:
        page.insert_textbox((50, 50, 450, 150), PROSE, fontsize=11)
        for number, row in enumerate(rows):
            for place, cell in enumerate(row):
                at = (250 - sign * 13 * (number - 1), 400 + sign * 90 * (place - 1))
                page.insert_text(at, cell, fontsize=9, rotate=rotate)

    layer = layer_of(draw)
    assert layer.is_trustworthy
    assert layer.blocks[-1].text == "\n".join("\t".join(row) for row in rows)
    x0, y0, x1, y1 = layer.blocks[-1].box_px or (0, 0, 0, 0)
    assert x1 - x0 < 100 < y1 - y0, "boxes stay those of the page"
