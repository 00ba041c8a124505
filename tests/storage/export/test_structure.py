"""Pages of a document told together: tables that go on, furniture, levels."""

from collections.abc import Iterator

import pytest

from storage.export.outline import Outline
from storage.export.rows import BlockRow, PageRow
from storage.export.structure import StructuredRow, structured
from tests.effort import effort
from tests.storage.export.page_rows import a_row, as_structured, word

HEAD = "| Name | Sum |\n| --- | --- |\n"
LAST = "| oak | 4 |\n| elm | 5 |"
REST = "<table><tr><td>ash</td><td>6</td></tr><tr><td>yew|</td><td>7</td></tr></table>"


def block(label: str, text: str, left: int = 100, right: int = 900) -> BlockRow:
    return BlockRow(label=label, box=(left, 100, right, 200), text=text, confidence=None, source="ocr")


def bodies(*pages: str) -> list[str | None]:
    return [row["markdown"] for row in as_structured(*(a_row(page, at) for at, page in enumerate(pages, 1)))]


def test_a_table_that_goes_on_is_one_with_its_head_row_once() -> None:
    found = as_structured(
        a_row(f"Before.\n\n{HEAD}{LAST}\n\n1", 1),
        a_row(f"{HEAD}| ash | 6 |\n\nAfter.\n\n2", 2),
    )
    assert [row["markdown"] for row in found] == [f"Before.\n\n{HEAD}{LAST}\n| ash | 6 |", "After."]
    assert [row["continues"] for row in found] == [False, True]
    assert [row["furniture"] for row in found] == [["1"], ["2"]]


def test_it_may_go_on_without_its_head_row_and_over_several_pages() -> None:
    other = "| a | b | c |\n| - | - | - |\n| 1 | 2 | 3 |"
    assert bodies(HEAD + LAST, REST, REST, f"{REST}\n\nAfter.\n\n{HEAD}{LAST}", other) == [
        HEAD + LAST + 3 * "\n| ash | 6 |\n| yew\\| | 7 |",
        "",
        "",
        f"After.\n\n{HEAD}{LAST}",
        other,
    ]


def test_tables_in_tags_are_joined_as_they_are_written() -> None:
    first = '<table><tr><td rowspan="2">2022</td><td>1 &lt; 2</td></tr><tr><td>5</td></tr></table>'
    rest = "<table><tr><td>2023</td><td>1 &amp; 2</td></tr></table>"
    joined = first.replace("</table>", "<tr><td>2023</td><td>1 &amp; 2</td></tr></table>")
    assert bodies(first, rest) == [joined, ""]


def test_another_table_stays_one() -> None:
    others = [
        "| Place | Sum |\n| --- | --- |\n| here | 5 |",  # another head row
        "<table><tr><td>ash</td><td>6</td><td>7</td></tr></table>",  # another number of columns
        "<table><tr><td>8</td><td>ash</td></tr></table>",  # figures in another one
        f"Text.\n\n{REST}",
        '<table><tr><td colspan="2">9</td></tr><tr><td>ash</td><td>6</td></tr></table>',  # spans
    ]
    for other in others:
        assert bodies(HEAD + LAST, other) == [HEAD + LAST, other]
    assert bodies(f"{HEAD}{LAST}\n\nText.", REST) == [f"{HEAD}{LAST}\n\nText.", REST]
    apart = as_structured(a_row(HEAD + LAST, 1), a_row(REST, 3))
    assert [row["markdown"] for row in apart] == [HEAD + LAST, REST]


def test_a_table_elsewhere_across_the_page_is_another() -> None:
    found = as_structured(
        a_row(HEAD + LAST, 1, blocks=[block("table", "Name\tSum\noak\t4\nelm\t5", 100, 500)]),
        a_row(REST, 2, blocks=[block("table", "ash\t6\nyew|\t7", 450, 900)]),
    )
    assert [row["continues"] for row in found] == [False, False]


def test_a_line_that_says_so_does_not_part_it() -> None:
    found = as_structured(a_row(HEAD + LAST, 1), a_row(f"Table 2 (continued)\n\n{HEAD}| ash | 6 |", 2))
    assert [row["markdown"] for row in found] == [f"{HEAD}{LAST}\n| ash | 6 |", ""]
    assert found[1]["furniture"] == ["Table 2 (continued)"]


def test_words_go_where_their_markdown_is() -> None:
    first = a_row(
        HEAD + "| oak | 4 |", 1, blocks=[block("table", "Name\tSum\noak\t4")],
        words=[word(text, 1, 1, 2, 2) for text in ("Name", "Sum", "oak", "4")],
    )  # fmt: skip
    second = a_row(
        f"{HEAD}| ash | 6 |\n\nAfter.", 2, blocks=[block("table", "Name\tSum\nash\t6"), block("text", "After.")],
        words=[word(text, 1, 1, 2, 2) for text in ("Name", "Sum", "ash", "6", "After.")],
    )  # fmt: skip
    found = as_structured(first, second)
    shown = [[one["text"] for one in row["shown_words"]] for row in found]
    assert shown == [["Name", "Sum", "oak", "4", "Name", "Sum", "ash", "6"], ["After."]]
    assert found[1]["words"] == second["words"]


def test_furniture_and_headings_are_labelled() -> None:
    def page(number: int, heading: str) -> PageRow:
        text = f"A text {'abc'[number - 1]}."
        texts = (("text", "The harbour book"), ("title", heading), ("text", text), ("text", str(number)))
        blocks = [block(label, text) for label, text in texts]
        return a_row(f"The harbour book\n\n# {heading}\n\n{text}\n\n{number}", number, blocks=blocks)

    found = as_structured(page(1, "1.1 Boats"), page(2, "1.2 Nets"), page(3, "2 Ropes"))
    assert [one["label"] for one in found[1]["blocks"]] == ["page_header", "heading_2", "text", "page_number"]
    assert [row["markdown"] for row in found] == [
        "## 1.1 Boats\n\nA text a.",
        "## 1.2 Nets\n\nA text b.",
        "# 2 Ropes\n\nA text c.",
    ]
    assert found[0]["furniture"] == ["The harbour book", "1"]


def test_a_title_that_later_pages_repeat_stays() -> None:
    def page(number: int, label: str, foot: int) -> PageRow:
        title = BlockRow(
            label=label, box=(100, 100, 900, foot), text="The book", confidence=None, source="ocr"
        )
        return a_row(f"# The book\n\nText {'abc'[number]}.", number, blocks=[title])

    found = as_structured(page(0, "title", 150), page(1, "sub_title", 120), page(2, "text", 120))
    assert [row["furniture"] for row in found] == [[], ["The book"], ["The book"]]


def test_chapters_of_a_page_each_are_no_running_heads() -> None:
    def page(number: int) -> PageRow:
        text = f"A text of some length that is long enough {'abcd'[number]}."
        blocks = [{**block("title", f"Chapter {number}"), "box": (9, 9, 99, 159)}, block("text", text)]
        return a_row(f"# Chapter {number}\n\n{text}", number, blocks=blocks)

    assert [row["furniture"] for row in as_structured(*map(page, (1, 2, 3)))] == [[], [], []]


@pytest.mark.parametrize("piece", [".", ". ", "| ", "|-", "<tr>", " ", "](", "<b", "1.", "continued ", "**"])
def test_it_is_quick_on_any_page(piece: str) -> None:
    text = f"<table>{piece * 20_000}</table>" if piece == "<tr>" else f"| a |\n{piece * 20_000}"
    blocks = [block("text", text), block("table", piece * 20_000)]
    pages = [a_row(f"{text}\n\n{piece * 20_000}", at, blocks=blocks) for at in (1, 2)]
    assert effort(lambda: as_structured(*pages)) < 60


def test_lines_of_the_contents_are_text_and_stay() -> None:
    names = ["1 Boats", "2 Nets", "3 Ropes"]
    entries = [block("sub_title", f"{name} {number}") for number, name in enumerate(names, 2)]
    contents = a_row("\n\n".join(f"## {one['text']}" for one in entries), 1, blocks=entries)
    pages = [
        a_row(
            f"# {name}\n\nA text {'abcd'[number - 1]}.",
            number,
            blocks=[{**block("title", name), "box": (9, 9, 99, 159)}],
        )
        for number, name in enumerate(names, 2)
    ]
    found = as_structured(contents, *pages)
    assert (found[0]["markdown"], found[0]["furniture"]) == ("1 Boats 2\n\n2 Nets 3\n\n3 Ropes 4", [])
    assert [one["label"] for one in found[0]["blocks"]] == ["text"] * 3
    assert found[1]["markdown"] == "# 1 Boats\n\nA text b."


def test_one_table_over_many_pages_is_not_held_for_ever() -> None:
    taken = 0

    def endless() -> Iterator[PageRow]:
        nonlocal taken
        while True:
            taken += 1
            yield a_row(f"{HEAD}| oak | {taken} |", taken)

    pages: Iterator[StructuredRow] = structured(endless(), lambda _: Outline())
    first = next(pages)
    assert (first["markdown"] or "").count("| oak |") == 100
    assert taken < 120
    assert sum(next(pages)["continues"] for _ in range(100)) == 99


def test_each_document_has_its_own_outline_and_words() -> None:
    rows = [a_row("The harbour", path="/in/a.pdf"), a_row("The garden", path="/in/b.pdf")]
    asked = []
    found = list(structured(rows, lambda row: asked.append(row["path"]) or Outline()))  # type: ignore[func-returns-value]
    assert asked == ["/in/a.pdf", "/in/b.pdf"]
    assert [row["known_words"] for row in found] == [{"the", "harbour"}, {"the", "garden"}]
