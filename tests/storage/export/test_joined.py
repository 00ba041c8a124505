"""Pages that become one text."""

from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.export.joined import joined
from storage.export.outline import Outline
from storage.export.rows import PageRow
from storage.export.structure import structured
from tests.storage.export.page_rows import a_row


def text(*pages: str) -> str:
    return "\n\n".join(as_one(a_row(page, number) for number, page in enumerate(pages, 1)))


def as_one(rows: Iterable[PageRow]) -> Iterator[str]:
    return joined(structured(rows, lambda _: Outline()), lambda row: f"page {row['page']}")


def test_a_paragraph_goes_on_across_a_page_and_its_number() -> None:
    found = text(
        "It was a long sentence that the page\ncould not hold, so that it went on as instal-\n\n1",
        "lation notes do.\n\nNext.\n\n2",
    )
    assert found == (
        "<!-- page 1 -->\n\n<!-- page furniture: 1 -->\n\n"
        "It was a long sentence that the page\ncould not hold, so that it went on as installation <!-- page 2 --> "
        "notes do.\n\n<!-- page furniture: 2 -->\n\nNext."
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("It ended with a full stop, as most paragraphs do.", "but this is small."),
        ("Nothing in this line says that it has ended", "A new one begins."),
        ("# A heading that is long enough to be a line", "and text."),
        ("A line that goes on to what is a list by its looks", "- an entry"),
        ("    a['usbif,class3'] = b{0} | c[1]; x == y", "name='reg' type=int"),
        ("Too short", "to tell."),
        ("Nothing in this line says that it has ended", "Überall begins a new one."),
        ("Nothing in this line says that the word is prac-", "¹Integrators buy and sell, as a note says."),
    ],
)
def test_what_may_not_go_on_stays_apart(first: str, second: str) -> None:
    assert text(first, second) == f"<!-- page 1 -->\n\n{first}\n\n<!-- page 2 -->\n\n{second}"


def test_what_floats_at_the_end_of_a_page_does_not_cut_its_paragraph() -> None:
    found = text("The paragraph above the figure goes on\n\nFigure 3. A boat.", "below it and ends.")
    assert found.endswith("goes on <!-- page 2 -->\nbelow it and ends.\n\n*Figure 3. A boat.*")


def test_columns_are_joined_and_words_are_as_the_document_writes_them() -> None:
    page = "A well-known word. The informa-\ntion of a well-\nknown column goes\n\non in the other. In-\nformation."
    assert text(page).endswith(
        "A well-known word. The information of a well-known column goes\n\non in the other. Information."
    )
    page = "The first column ends in the middle of\n\na sentence that its neighbour ends."
    assert text(page).endswith("in the middle of\na sentence that its neighbour ends.")


def test_a_name_keeps_its_hyphen_over_a_line_s_and_a_page_s_end() -> None:
    assert text("The letter that was written to Jean-\nPaul came back.").endswith(
        "written to Jean-Paul came back."
    )
    found = text("It was a long sentence, and all of it was about Jean-", "Paul and his boat.")
    assert found.count("Jean") == found.count("Paul") == 1
    assert "JeanPaul" not in found


def test_heads_of_left_and_right_pages_are_furniture_and_a_title_is_not() -> None:
    pages = [
        f"{number} *A Handbook*\n\nA title {letter}\n\nText."
        if number % 2
        else f"Chapter 1\t{number}\n\nMore {letter}.\n\nText."
        for number, letter in zip(range(1, 7), "abcdef", strict=True)
    ]
    found = text(*pages)
    assert found.count("<!-- page furniture: ") == 6 + 6  # and the feet
    assert "<!-- page furniture: 3 *A Handbook* -->" in found
    assert "<!-- page furniture: Chapter 1 4 -->" in found


def test_roman_numbers_and_numbers_of_all_count_up() -> None:
    found = text("One.\n\niii", "Two.\n\niv", "3 / 9\n\nThree.", "4 / 9\n\nFour.", "Five.\n\n17")
    assert [line[21:-4] for line in found.split("\n") if "furniture" in line] == [
        "iii",
        "iv",
        "3 / 9",
        "4 / 9",
    ]
    assert "17" in found


def test_a_number_on_one_page_stays_text() -> None:
    assert text("Total\n\n42") == "<!-- page 1 -->\n\nTotal\n\n42"


def test_footnotes_are_linked_where_their_marker_is_in_the_text() -> None:
    found = text(
        "As was said before.1 It holds² too.\n\n1 By somebody.\n\n² By another.", "1 apple\n\n2 pears"
    )
    assert "As was said before.[^1-1] It holds[^1-2] too." in found
    assert "[^1-1]: By somebody.\n\n[^1-2]: By another." in found
    assert found.endswith("1 apple\n\n2 pears")


def test_bullets_become_lists_and_code_stays_as_it_is() -> None:
    assert text("• one\n• two\n\n```\n• raw-\nline\n\nend\n```").endswith(
        "- one\n- two\n\n```\n• raw-\nline\n\nend\n```"
    )


def test_no_text_of_a_page_ends_its_comment() -> None:
    found = text("--> <b> 1\n\nA.", "--> <b> 2\n\nB.")
    assert found.count("-->") == found.count("<!--") == 4


def test_pages_are_taken_as_they_are_needed() -> None:
    taken = 0

    def endless() -> Iterator[PageRow]:
        nonlocal taken
        while True:
            taken += 1
            yield a_row(f"Page {taken}.", taken)

    flow = as_one(endless())
    for _ in range(20):
        next(flow)
    assert taken < 40


@given(st.lists(st.text(st.sampled_from("ab1i. -\n#*•<>|`²"), max_size=60), max_size=5))
def test_no_letter_is_lost(pages: list[str]) -> None:
    def letters(found: str) -> list[str]:
        return sorted(letter for letter in found if letter in "ab")

    found = text(*pages)
    for word in ("page furniture", "page"):
        found = found.replace(f"<!-- {word}", "<!-- ")
    found = found.replace("&gt;", ">")
    assert letters(found) == letters("".join(pages))
