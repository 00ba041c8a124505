"""Tables with rules across them alone keep rows, columns and empty cells; running text at a rule is none."""

from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import pymupdf
import pytest

from ocr.paragraphs.line_tables import Cell
from pipeline.text_layer.extract.ruled_tables import FilledTable, drawings_of, filled, find_tables
from pipeline.text_layer.extract.spans import read_spans
from storage.export.rendering import tables
from tests.pipeline.text_layer.extract.text_pages import PROSE, layer_of

ROWS = [
    ["Station", "Trains", "Steps", "Opened"],
    ["Alder Lane", "212", "44", "1871"],
    ["Quay", "96", "", "1902"],
    ["Old Fort", "", "17", ""],
    ["Zoo and gardens", "31", "8", "1933"],
]


def table(
    page: Any,
    rows: Sequence[Sequence[str]],
    xs: Sequence[float],
    *,
    pitch: float,
    size: float = 10,
    font: str = "helv",
) -> None:
    for number, row in enumerate(rows):
        for x, text in zip(xs, row, strict=True):
            page.insert_text((x, 220 + pitch * number), text, fontsize=size, fontname=font)


def rule(page: Any, y: float, x0: float = 55, x1: float = 440) -> None:
    page.draw_line((x0, y), (x1, y), width=0.7)


@pytest.mark.parametrize(("font", "size", "pitch"), [("helv", 8, 11), ("tiro", 11, 24), ("cour", 9, 14)])
@pytest.mark.parametrize("places", [(-1.1, 0.4, 4.4), (0.4,), (0.4, 3.4), (-1.1, 0.4, 1.4, 2.4, 3.4, 4.4)])
def test_empty_cells_keep_their_columns(
    font: str, size: float, pitch: float, places: tuple[float, ...]
) -> None:
    """places: of rules, in rows below the first row's baseline."""

    def draw(page: Any) -> None:
        page.insert_textbox((55, 50, 440, 150), PROSE, fontsize=size, fontname=font)
        table(page, ROWS, (60, 180, 270, 360), pitch=pitch, size=size, font=font)
        for place in places:
            rule(page, 220 + pitch * place)
        page.insert_textbox((55, 420, 440, 600), PROSE, fontsize=size, fontname=font)

    layer = layer_of(draw)
    assert [block.label for block in layer.blocks] == ["text", "table", "text"]
    assert layer.blocks[1].text.split("\n") == ["\t".join(row) for row in ROWS]
    assert "| Quay | 96 |  | 1902 |" in layer.markdown
    (found,) = tables(layer.markdown)
    assert found.grid() == ROWS
    assert found.rows[0][0].is_heading


def test_a_word_across_the_edge_of_a_column_stays_whole() -> None:
    def draw(page: Any) -> None:
        for top in (200, 220, 240):
            for left in (60, 200):
                page.draw_rect((left, top, left + 140, top + 20), width=0.7)
        for x, base, text in ((130, 214, "RULES AND COMMITMENTS"), (70, 234, "made"), (210, 234, "kept")):
            page.insert_text((x, base), text, fontsize=10)
        page.insert_text((70, 254), "May", fontsize=10)
        page.insert_text((210, 254), "June", fontsize=10)

    (found,) = tables(layer_of(draw).markdown)
    (first, *others) = found.grid()
    assert [cell for cell in first if "COMMITMENTS" in cell]
    assert others == [["made", "kept"], ["May", "June"]]


@pytest.mark.parametrize("places", [(), (0.4, 1.4, 2.4, 3.4, 4.4)])
def test_shaded_cells_of_a_head_are_the_first_row_of_their_table(places: tuple[float, ...]) -> None:
    """places: as above."""
    rows = [ROWS[0], *([name, "31", "8", year] for name, *_, year in ROWS[1:])]

    def draw(page: Any) -> None:
        for x0, x1 in pairwise((55, 175, 265, 355, 440)):
            page.draw_rect((x0, 206, x1, 227), color=None, fill=(0.85, 0.9, 0.95))
        table(page, rows, (60, 180, 270, 360), pitch=24)
        for place in places:
            rule(page, 220 + 24 * place)

    layer = layer_of(draw)
    assert [block.text for block in layer.blocks] == ["\n".join("\t".join(row) for row in rows)]


def test_shaded_cells_in_one_row_are_no_table_where_the_network_sees_tables() -> None:
    with pymupdf.open() as document:
        page = document.new_page()
        for x, text in ((150, "Quantity"), (250, "Rate")):
            page.draw_rect((x, 80, x + 100, 100), color=(0, 0, 0), fill=(0.85, 0.9, 0.95))
            page.insert_text((x + 5, 95), text)
        named = tuple(Cell(box=(60.0 + x, 200, 120.0 + x, 220), row=0, column=x) for x in (0, 1))
        assert len(find_tables(page, drawings_of(page))) == 1
        assert find_tables(page, drawings_of(page), named=[named]) == [named]


def test_shades_behind_a_heading_are_no_table() -> None:
    def draw(page: Any) -> None:
        for x0, x1 in pairwise((55, 70, 250, 300)):
            page.draw_rect((x0, 206, x1, 227), color=None, fill=(0.85, 0.9, 0.95))
        page.insert_text((75, 220), "Who may take part this year? And why?", fontsize=11)

    assert [block.text for block in layer_of(draw).blocks] == ["Who may take part this year? And why?"]


@pytest.mark.parametrize(("rows", "is_kept"), [(5, True), (12, False)])
def test_a_grid_gives_way_only_to_a_table_of_more_cells(rows: int, is_kept: bool) -> None:
    with pymupdf.open() as document:
        page = document.new_page()
        for left, top in product(range(60, 420, 120), range(200, 440, 24)):
            page.draw_rect((left, top, left + 120, top + 24), width=0.7)
            page.insert_text((left + 9, top + 16), "cell", fontsize=10)
        named = tuple(
            Cell(box=(60 + 72 * n, 200 + 20 * row, 132 + 72 * n, 220 + 20 * row), row=row, column=n)
            for row, n in product(range(rows), range(5))
        )
        (found,) = find_tables(page, drawings_of(page), (), [named])
    assert len(found) == (30 if is_kept else len(named))


def test_a_head_over_two_columns_a_caption_and_a_cell_of_two_lines() -> None:
    def draw(page: Any) -> None:
        page.insert_text((60, 180), "Table 4. Catch of two boats,", fontsize=10)
        page.insert_text((230, 180), "in boxes", fontsize=10)
        page.insert_text((190, 204), "Herring and sprat", fontsize=10)
        rows = [["Month", "Ada", "Lotte"], ["May", "31", "12"], ["June", "44", "9"], ["July", "50", "27"]]
        table(page, rows, (60, 190, 280), pitch=24)
        page.insert_text((190, 280), "in five", fontsize=10)
        for y in (190, 228, 308):
            rule(page, y)

    layer = layer_of(draw)
    assert layer.text.startswith("Table 4. Catch of two boats,\tin boxes\n\n")
    assert '<th colspan="2">Herring and sprat</th>' in layer.markdown
    assert "<td>June</td><td>44 in five</td><td>9</td>" in layer.markdown


def test_running_text_in_one_or_two_columns_between_rules_is_no_table() -> None:
    def draw(page: Any) -> None:
        rule(page, 40, 50, 450)
        for x in (50, 260):
            page.insert_textbox((x, 50, x + 190, 600), PROSE, fontsize=10)
        rule(page, 610, 50, 450)
        for number in range(4):
            page.insert_text((50, 630 + 12 * number), f"{number + 1}.", fontsize=9)
            page.insert_text((70, 630 + 12 * number), "A note on what is above", fontsize=9)

    assert {block.label for block in layer_of(draw).blocks} == {"text"}


def test_text_under_a_running_head_with_a_rule_is_no_table_and_no_word_of_it_is_torn() -> None:
    text = ["A rule below the head of a page is none of a table, however many of", "them stand on it."]

    def draw(page: Any) -> None:
        table(page, [["3.2. Symbols", "11"]], (60, 425), pitch=0)
        rule(page, 226)
        for top in (254, 342):
            page.insert_text((60, top), "Sine of a frequency", fontsize=10, fontname="hebo")
            for number, row in enumerate([("Code", "Shown"), ("energy", "E"), ("module", "x")]):
                for x, cell in zip((170, 260), row, strict=True):
                    page.insert_text((x, top + 20 + 13 * number), cell, fontsize=10)
            for number, line in enumerate(text):
                page.insert_text((60, top + 60 + 12 * number), line, fontsize=12)

    words = " ".join(layer_of(draw).text.split())
    assert words.startswith("3.2. Symbols 11 Sine")
    assert words.count(" ".join(text)) == 2


def test_lines_of_a_program_between_rules_are_no_table() -> None:
    def draw(page: Any) -> None:
        page.insert_textbox((55, 50, 440, 190), PROSE, fontsize=10)
        lines = ["for boat in boats:", "moor(boat)  # at home", "count += 1", "print(count)"]
        table(page, [[str(n), line] for n, line in enumerate(lines, 7)], (60, 75), pitch=13)
        page.insert_text((60, 300), "boats = set()    # none yet", fontsize=10, fontname="cour")
        page.insert_text((60, 313), "count = 0        # of them", fontsize=10, fontname="cour")
        page.insert_text((60, 326), "names = ()       # and theirs", fontsize=10, fontname="cour")
        for y in (205, 265, 285, 332):
            rule(page, y)

    assert {block.label for block in layer_of(draw).blocks} == {"text", "code"}


def test_bars_and_tags_in_a_cell_are_text() -> None:
    def draw(page: Any) -> None:
        table(page, [["Key", "Means"], ["a|b", "either"], ["<b>", "bold"]], (60, 200), pitch=16)
        for y in (205, 225, 260):
            rule(page, y)

    layer = layer_of(draw)
    (found,) = tables(layer.markdown)
    assert found.grid() == [["Key", "Means"], ["a|b", "either"], ["< b>", "bold"]]
    assert "a|b\teither" in layer.text


@pytest.mark.parametrize("edges", [(40, 460), (40, 240, 460)])
def test_frames_one_below_the_other_are_no_table(edges: tuple[float, ...]) -> None:
    with pymupdf.open() as made:
        page = made.new_page()
        for y, heading in ((60, "LEGAL NOTICE"), (90, "running text")):
            page.insert_text((50, y), heading, fontsize=10)
            page.insert_text((250, y), "goes on", fontsize=10)
        spans = read_spans(page.get_displaylist())
    rows = [
        Cell(box=(x0, y, x1, y + 30), row=row, column=column)
        for row, y in enumerate((40, 70))
        for column, (x0, x1) in enumerate(pairwise(edges))
    ]
    made_of = list(filled(spans, [tuple(rows)]))
    assert any(isinstance(it, FilledTable) for it in made_of) == (len(edges) > 2)
