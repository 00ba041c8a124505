"""The text of a page's lines: rows, paragraphs, headings, tables, and what is no text."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest

from ocr.line_reader.found_lines import LineWord, ReadLine, TextLine
from ocr.line_reader.page_text import page_text
from ocr.line_reader.reading_order import Unit
from ocr.paragraphs.line_tables import Rule
from ocr.types import ParsedText, Word


def read(
    text: str, left: int, right: int, base: int, *, size: float = 20.0, confidence: float = 0.9
) -> ReadLine:
    line = TextLine(left=left, right=right, baseline=np.full(right - left, base, np.float32), size=size)
    return ReadLine(line=line, text=text, confidence=confidence)


def paragraph(name: str, top: int, number: int) -> list[ReadLine]:
    return [read(f"{name} line {n} of some text", 50, 650, top + 26 * n) for n in range(number)]


def test_lines_of_a_paragraph_stay_lines_and_paragraphs_are_blocks() -> None:
    page = page_text([*paragraph("second", 200, 3), *paragraph("first", 100, 3)])
    first, second = (
        "\n".join(f"{name} line {n} of some text" for n in range(3)) for name in ("first", "second")
    )
    assert page.text == page.markdown == f"{first}\n\n{second}"
    assert [(block.label, block.text) for block in page.blocks] == [("text", first), ("text", second)]
    assert page.blocks[0].box_px == (50, 84, 650, 157)


def test_a_heading_is_marked_in_markdown_alone() -> None:
    page = page_text([read("The title", 50, 400, 60, size=40.0), *paragraph("body", 140, 5)])
    assert page.blocks[0].label == "sub_title"
    assert page.text.startswith("The title\n\nbody")
    assert page.markdown.startswith("## The title\n\nbody")


def test_larger_type_alone_is_no_heading(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a formula, where the network, which sees how large it is, calls it text."""

    def units(reads: Sequence[ReadLine], *_: object, **__: object) -> list[Unit]:
        return [Unit("text", [[read]], [[(-1, -1)]]) for read in reads]

    monkeypatch.setattr("ocr.line_reader.page_text.in_reading_order", units)
    page = page_text([read("W = (x", 50, 400, 60, size=40.0), *paragraph("body", 140, 5)])
    assert {block.label for block in page.blocks} == {"text"}


def test_a_line_a_little_larger_than_those_below_it_is_a_block_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the bold subject of a letter, where the network says so and no room is left below it."""

    def units(reads: Sequence[ReadLine], *_: object, **__: object) -> list[Unit]:
        rows = [[read] for read in reads]
        return [Unit("text", own, [[(-1, -1)] for _ in own]) for own in (rows[:1], rows[1:])]

    monkeypatch.setattr("ocr.line_reader.page_text.in_reading_order", units)
    for size, count in ((22.0, 2), (20.5, 1)):
        subject = read("Your order no. 4471", 50, 270, 100, size=size)
        page = page_text([subject, read("Dear Mr. Price,", 50, 220, 130), read("Lower Marsh", 50, 200, 158)])
        assert len(page.blocks) == count


def test_headings_of_other_sizes_below_each_other_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the name of a chapter and that of its first section, which the network takes for one."""

    def units(reads: Sequence[ReadLine], *_: object, **__: object) -> list[Unit]:
        return [Unit("heading 1", [[read] for read in reads], [[(-1, -1)] for _ in reads])]

    monkeypatch.setattr("ocr.line_reader.page_text.in_reading_order", units)
    for size, count in ((42.0, 2), (49.0, 1)):
        page = page_text(
            [
                read("Chapter 1. Introduction", 50, 650, 100, size=52.0),
                read("1.1. Purpose", 50, 350, 160, size=size),
            ]
        )
        assert [block.label for block in page.blocks] == ["sub_title"] * count


def test_a_table_is_one_block_with_a_line_a_row() -> None:
    cells = [read(f"{x}.{y}", 60 + 250 * x, 140 + 250 * x, 100 + 30 * y) for x in range(3) for y in range(4)]
    page = page_text(cells)
    assert [block.label for block in page.blocks] == ["table"]
    assert page.text == "\n".join(f"0.{y} 1.{y} 2.{y}" for y in range(4))


ROWS = [["Boat", "Crew", "Catch"], ["Ada", "4", "310"], ["Lotte", "", "95"], ["Marie", "6", ""]]
RULES = [Rule(x0=50, x1=700, y=y) for y in (70.0, 110.0, 205.0)]


def cells_of_rows() -> list[ReadLine]:
    found = []
    for x, y in ((x, y) for y in range(4) for x in range(3) if ROWS[y][x]):
        left, text = 60 + 250 * x, ROWS[y][x]
        words = (LineWord(text=text, left=left, right=left + 80, confidence=0.9),)
        found.append(replace(read(text, left, left + 80, 100 + 30 * y), words=words))
    return found


def test_empty_cells_of_a_table_at_rules_keep_their_columns() -> None:
    page = page_text(cells_of_rows(), rules=RULES)
    assert page.text.split("\n") == ["\t".join(row) for row in ROWS]
    assert "| Lotte |  | 95 |\n| Marie | 6 |  |" in page.markdown
    assert [word.text for word in page.words] == page.text.split()


def test_rules_without_text_are_no_table() -> None:
    assert page_text([], rules=RULES) == page_text([])
    uprights = [(x, 70.0, x + 3, 205.0) for x in (50.0, 250.0, 700.0)]
    below = paragraph("below", 400, 3)
    assert page_text(below, rules=RULES, uprights=uprights) == page_text(below)


def test_a_table_between_rules_in_both_directions_has_cells() -> None:
    rules = [Rule(x0=50, x1=700, y=y) for y in (70.0, 110.0, 140.0, 170.0, 205.0)]
    uprights = [(x, 70.0, x + 3, 205.0) for x in (50.0, 250.0, 500.0, 700.0)]
    page = page_text(cells_of_rows(), rules=rules, uprights=uprights)
    assert page.markdown.startswith("| Boat | Crew | Catch |\n| --- |")
    assert "| Lotte |  | 95 |" in page.markdown


def test_a_table_whose_rules_between_columns_are_not_seen_has_columns_where_its_white_is() -> None:
    """As those of a browser's low cells, which are too short."""
    rules = [Rule(x0=50, x1=700, y=y) for y in (70.0, 110.0, 140.0, 170.0, 205.0)]
    page = page_text(cells_of_rows(), rules=rules, uprights=[(x, 70.0, x + 3, 205.0) for x in (50.0, 700.0)])
    assert "| Ada | 4 | 310 |\n| Lotte |  | 95 |" in page.markdown


def test_a_table_without_rules_has_columns_where_its_white_is() -> None:
    page = page_text(cells_of_rows())
    assert [block.label for block in page.blocks] == ["table"]
    assert "| Ada | 4 | 310 |\n| Lotte |  | 95 |" in page.markdown


def test_a_list_whose_marks_stand_far_from_its_words_is_no_table() -> None:
    marks, words = ("–", "–", "–", "–"), ("Fresh herbs", "Salt and oil", "A large pan", "Two lemons")
    items = [
        read(text, x, x + 14 * len(text), 100 + 26 * n)
        for n, item in enumerate(zip(marks, words, strict=True))
        for x, text in zip((50, 130), item, strict=True)
    ]
    items = [
        replace(it, words=(LineWord(text=it.text, left=it.line.left, right=it.line.right, confidence=0.9),))
        for it in items
    ]
    assert page_text(items).text == "\n".join(f"– {text}" for text in words)


def test_a_cell_that_goes_on_below_is_one_cell() -> None:
    def cell(text: str, x: int, y: int) -> ReadLine:
        words = (LineWord(text=text, left=x, right=x + 80, confidence=0.9),)
        return replace(read(text, x, x + 80, y), words=words)

    tops = (100, 152, 182, 234)
    rows = [(f"{n}.3.", f"Booking{n}", f"{n}4,50") for n in range(1, 5)]
    cells = [
        cell(text, 60 + 200 * x, y) for y, row in zip(tops, rows, strict=True) for x, text in enumerate(row)
    ]
    page = page_text([*cells, cell("thanks", 260, 122), cell("again", 260, 204)])
    assert "1.3.\tBooking1 thanks\t14,50\n2.3." in page.text
    assert "3.3.\tBooking3 again\t34,50" in page.text


def test_columns_of_text_between_rules_are_no_table() -> None:
    columns = [
        read("some words of an article in its column", 60 + 250 * x, 285 + 250 * x, 100 + 26 * n + 7 * x)
        for x in range(3) for n in range(30)
    ]  # fmt: skip
    rules = [Rule(x0=50, x1=800, y=y) for y in (70.0, 880.0)]
    uprights = [(x, 70.0, x + 3, 880.0) for x in (50.0, 300.0, 550.0, 800.0)]
    page = page_text(columns, rules=rules, uprights=uprights)
    assert {block.label for block in page.blocks} == {"text"}


def boxed(text: str, left: int, base: int) -> ReadLine:
    line = read(text, left, left + 11 * len(text), base)
    words = tuple(
        LineWord(text=word, left=left + 11 * at, right=left + 11 * (at + len(word)), confidence=0.9)
        for word, at in ((word, text.index(word)) for word in text.split())
    )
    return replace(line, words=words)


def test_a_form_of_boxes_is_read_box_by_box() -> None:
    filled = {
        (60, 100): ("1. Surname", "Hollowell"), (360, 100): ("2. Date", "17 May 1988"),
        (560, 100): ("3. Account", "52965607"),
        (60, 190): ("4. Employer", "Fettle Cycles"), (460, 190): ("5. Witness", "Ada Drinkwater"),
    }  # fmt: skip
    lines = [boxed(text, x, y + 34 * n) for (x, y), its in filled.items() for n, text in enumerate(its)]
    rules = [Rule(x0=50, x1=760, y=y) for y in (70.0, 160.0, 250.0)]
    uprights = [
        *((x, 70.0, x + 3, 160.0) for x in (50.0, 350.0, 550.0, 760.0)),
        *((x, 160.0, x + 3, 250.0) for x in (50.0, 450.0, 760.0)),
    ]
    below = boxed("I have read the notes", 60, 300)
    page = page_text([*lines[::-1], below], rules=rules, uprights=uprights)
    assert page.text.split() == " ".join([*(" ".join(its) for its in filled.values()), below.text]).split()
    assert [block.label for block in page.blocks] == ["table", "text"]


def test_two_tables_whose_rules_meet_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network sees two; one between rules that it takes for two has its columns in one place."""
    upper = [["Ship", "Home port"], ["Ada", "Husum"], ["Lotte", "Emden"], ["Marie", "Kiel"]]
    lower = [["Day", "Crew", "Price"], ["1 May", "3", "1,40"], ["2 May", "4", "2,40"], ["3 May", "7", "3,40"]]

    def units(reads: Sequence[ReadLine], *_: object, **__: object) -> Iterator[Unit]:
        for top, foot in ((0, 210), (210, 500)):
            own = [read for read in reads if top < read.line.middle < foot]
            rows = [list(row) for _, row in groupby(own, key=lambda read: read.line.middle)]
            yield Unit(
                "table cell", rows, [[(n, at) for at in range(len(row))] for n, row in enumerate(rows)]
            )

    monkeypatch.setattr("ocr.line_reader.page_text.in_reading_order", units)
    rows = [*((row, 350) for row in upper), *((row, 250) for row in lower)]
    lines = [boxed(t, 60 + w * x, 100 + 30 * y) for y, (row, w) in enumerate(rows) for x, t in enumerate(row)]
    rules = [Rule(x0=50, x1=740, y=78.0 + 30 * n) for n in range(9)]
    for middle, found in ((198.0, [upper, lower]), (78.0, [[*upper, *lower]])):
        uprights = [
            *((x, 78.0, x + 3, middle) for x in (50.0, 400.0, 740.0)),
            *((x, middle, x + 3, 318.0) for x in (50.0, 300.0, 540.0, 740.0)),
        ]
        page = page_text(lines, rules=rules, uprights=uprights)
        assert page.text.split() == " ".join(" ".join(row) for rows in found for row in rows).split()
        assert [block.label for block in page.blocks] == ["table"] * len(found)


def test_labels_in_smaller_type_are_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where ink of the word before goes on up to their boxes."""
    lines = [
        boxed(text, x, 100 + 30 * n) for n in range(4) for x, text in ((50, f"name{n}"), (300, "Broadcaster"))
    ]
    word = LineWord(text="Broadcaster", left=300, right=lines[3].line.right + 9, confidence=0.9)
    lines[3] = replace(lines[3], words=(word,))
    left = lines[3].line.right + 5
    label = LineWord(text="inline", left=left, right=left + 40, confidence=0.9)
    lines.insert(4, replace(read("inline", left, left + 40, 129, size=15.0), words=(label,)))

    def units(reads: Sequence[ReadLine], *_: object, **__: object) -> Iterator[Unit]:
        rows = [reads[:2], reads[2:5], reads[5:7], reads[7:]]
        yield Unit(
            "table cell",
            [*map(list, rows)],
            [[(n, 0), (n, 1), (n, 1)][: len(it)] for n, it in enumerate(rows)],
        )

    monkeypatch.setattr("ocr.line_reader.page_text.in_reading_order", units)
    assert "| name1 | Broadcaster | inline |" in page_text(lines).markdown


def test_a_frame_parted_by_a_rule_keeps_its_lines() -> None:
    """As a label that tells nutrition facts: what it says is not one cell, and in it a table may stand."""
    head = [boxed("Nutrition Facts", 60, 95), boxed("8 servings per container", 60, 130)]
    facts = {
        "Total Fat 8 g": "10%",
        "Sodium 160 mg": "7%",
        "Protein 3 g": "6%",
        "Iron 8 mg": "45%",
        "Salt 1 g": "2%",
    }
    lines = [
        boxed(text, x, 180 + 30 * n)
        for n, its in enumerate(facts.items())
        for x, text in zip((60, 500), its, strict=True)
    ]
    rules = [Rule(x0=50, x1=600, y=y) for y in (70.0, 150.0, 330.0)]
    page = page_text([*head, *lines], rules=rules, uprights=[(x, 70.0, x + 3, 330.0) for x in (50.0, 600.0)])
    assert page.text.split("\n\n") == [
        *(line.text for line in head),
        "\n".join(map("\t".join, facts.items())),
    ]


def test_words_come_in_the_order_of_the_text() -> None:
    cells = [
        replace(
            read(f"{x} {y}", 60 + 250 * x, 140 + 250 * x, 100 + 30 * y),
            words=(
                LineWord(text=str(x), left=60 + 250 * x, right=90 + 250 * x, confidence=0.5),
                LineWord(text=str(y), left=100 + 250 * x, right=140 + 250 * x, confidence=0.25),
            ),
        )
        for x in range(3)
        for y in range(4)
    ]
    page = page_text(cells)
    assert [word.text for word in page.words] == page.text.split()
    assert page.words[0] == Word(text="0", box_px=(60, 85, 90, 105), confidence=0.5)


def test_a_word_has_at_least_a_pixel_of_width() -> None:
    """One without would have no place in a searchable PDF."""
    narrow = LineWord(text="a", left=60.2, right=60.4, confidence=0.5)
    (word,) = page_text([replace(read("a", 60, 140, 100), words=(narrow,))]).words
    assert word.box_px is not None
    assert word.box_px[::2] == (60, 61)


def test_a_block_is_as_sure_as_its_characters() -> None:
    lines = [read("a" * 30, 50, 650, 100, confidence=0.9), read("b" * 10, 50, 650, 126, confidence=0.7)]
    (block,) = page_text(lines).blocks
    assert block.confidence is not None
    assert abs(block.confidence - 0.85) < 1e-9


def test_nothing_read_is_no_text() -> None:
    nothing = ParsedText(text="", markdown="", blocks=())
    assert page_text([]) == nothing
    assert page_text([read(" ", 50, 90, 100), read("x", 50, 90, 300, confidence=0.2)]) == nothing


def test_a_picture_taken_for_text_is_no_text() -> None:
    marks = [read(text, 50, 90, 100 + 30 * n) for n, text in enumerate(["D", "(Ú", "O", ")", "0O"])]
    assert page_text(marks).text == ""
    assert page_text([*marks, read("a word", 50, 200, 300)]).text != ""
    assert page_text([read("7", 50, 60, 100)]).text == "7"


def test_blocks_are_named_by_what_they_are_on_the_page() -> None:
    lines = [
        read("A HISTORY OF THE COUNTY", 220, 480, 40, size=15.0),
        *paragraph("first", 120, 14),
        read("Figure 7: the old mill at the bridge, seen from the east", 120, 560, 520, size=15.0),
        *paragraph("second", 590, 12),
        read("3 See the parish register, volume two, page ninety.", 60, 470, 960, size=13.0),
        read("4 Letter to his brother, in the county archive.", 60, 430, 980, size=13.0),
        read("— 152 —", 320, 380, 1040, size=15.0),
    ]
    named = {block.text.split()[0]: block.label for block in page_text(lines, size_px=(700, 1080)).blocks}
    assert named["Figure"] == "figure_caption"
    assert (named["A"], named["3"], named["—"]) == ("page_header", "footnote", "page_number")


def test_a_number_alone_and_a_sum_are_no_headings() -> None:
    """Whatever their size."""
    for large in ("7", "Rechnungsbetrag € 5.431,16", "Total 1,204.00 EUR", "Due $45.00", "Net 1,50 USD"):
        page = page_text([read(large, 300, 330 + 20 * len(large), 80, size=60.0), *paragraph("body", 240, 8)])
        assert page.blocks[0].label not in ("title", "sub_title")
    page = page_text([read("Version 2.10", 300, 570, 80, size=60.0), *paragraph("body", 240, 8)])
    assert page.blocks[0].label == "title"
