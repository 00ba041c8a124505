"""Levels of headings that only a whole document tells."""

import pytest

from storage.export.outline import ENTRY, RUNNING_HEAD, Outline, letters
from storage.export.rows import BlockRow, PageRow
from tests.storage.export.page_rows import a_row

_BODY = "The harbour office opens at seven, and who wants a berth should ask before noon on the day before."


def page(number: int, *blocks: tuple[str, str, int]) -> PageRow:
    """A page with blocks of one line: label, text, height; and two lines of text."""
    made, top = [], 100
    for label, text, height in (*blocks, ("text", _BODY, 20), ("text", _BODY, 20)):
        box = (100, top, 900, top + height)
        made.append(BlockRow(label=label, box=box, text=text, confidence=None, source="ocr"))
        top += 2 * height
    return a_row("\n\n".join(block["text"] for block in made), number, blocks=made)


def levels(*pages: PageRow) -> dict[str, int]:
    outline = Outline.of(pages)
    return {
        block["text"]: level
        for row in pages
        for block in row["blocks"]
        if (level := outline.level(row["page"], block["text"])) is not None
    }


def test_sizes_are_those_of_all_pages() -> None:
    """Each page calls its largest heading a title; the document has one."""
    assert levels(
        page(1, ("title", "The harbour", 60), ("sub_title", "Its history", 40)),
        page(2, ("title", "Its boats", 41), ("sub_title", "Sailing boats", 29)),
        page(3, ("title", "Rowing boats", 30)),
    ) == {"The harbour": 1, "Its history": 2, "Its boats": 2, "Sailing boats": 3, "Rowing boats": 3}


def test_numbers_tell_what_sizes_do_not() -> None:
    assert levels(
        page(1, ("title", "A handbook", 60), ("sub_title", "1 Boats", 30), ("sub_title", "1.1 Sails", 30)),
        page(2, ("title", "1.1.1 Linen", 30), ("sub_title", "2. Nets", 30), ("sub_title", "References", 30)),
    ) == {"A handbook": 1, "1 Boats": 2, "1.1 Sails": 3, "1.1.1 Linen": 4, "2. Nets": 2, "References": 2}


@pytest.mark.parametrize(
    ("text", "height", "is_heading"),
    [
        ("7. Plans", 30, True),
        ("Plans", 31, True),
        ("Plans", 22, False),
        ("1.4 Plans", 20, True),
        ("Section 4", 20, True),
        ("Plans of theirs,", 30, False),
        ("plans", 30, False),
        ("1.4 Plans, and what became of them in the end.", 20, False),
    ],
)
def test_a_line_like_the_headings_of_other_pages_is_one(text: str, height: int, is_heading: bool) -> None:
    found = levels(
        page(1, ("sub_title", "1. The year", 30), ("sub_title", "Section 3", 30)),
        page(2, ("sub_title", "2. Money", 30), ("sub_title", "2.1 Income", 30)),
        page(3, ("text", text, height)),
    )
    assert (text in found) == is_heading


def test_a_running_head_is_no_heading() -> None:
    outline = Outline.of(
        [
            page(1, ("title", "The harbour", 50)),
            page(2, ("sub_title", "The harbour", 24), ("sub_title", "Boats", 30)),
        ]
    )
    assert outline.level(1, "The harbour") == 1
    assert outline.level(2, "The harbour") == RUNNING_HEAD
    assert outline.level(2, "Boats") == 2


def test_contents_agree_with_the_headings() -> None:
    """What they list is a heading, though it is no larger than the text; their own lines are none."""
    found = levels(
        page(
            1,
            ("sub_title", "Contents", 40),
            ("sub_title", "Boats . . . . . 2", 24),
            ("text", "Nets ..... 3", 20),
        ),
        page(2, ("sub_title", "Boats", 40)),
        page(3, ("text", "Nets", 20), ("text", "Ropes", 20)),
    )
    assert found == {"Contents": 1, "Boats . . . . . 2": ENTRY, "Boats": 1, "Nets": 2}


def test_contents_without_dots_are_known_by_the_headings_they_name() -> None:
    names = ["Boats", "Nets", "Ropes"]
    entries = [("sub_title", f"{name} {number}", 22) for number, name in enumerate(names, 2)]
    headings = [page(number, ("sub_title", name, 40)) for number, name in enumerate(names, 2)]
    found = levels(page(1, *entries), *headings)
    assert found == {"Boats 2": ENTRY, "Nets 3": ENTRY, "Ropes 4": ENTRY, "Boats": 1, "Nets": 1, "Ropes": 1}


def test_scans_of_several_sizes_are_measured_by_their_text() -> None:
    small = page(1, ("sub_title", "One", 30), ("sub_title", "Two", 40))
    blocks = [
        BlockRow(**{**block, "box": tuple(3 * side for side in block["box"] or ())})  # type: ignore[typeddict-item]
        for block in page(2, ("sub_title", "Three", 30), ("sub_title", "Four", 40))["blocks"]
    ]
    large = a_row("", 2, blocks=blocks, dpi=None)
    found = levels(PageRow(**{**small, "dpi": None}), large)
    assert found["One"] == found["Three"] != found["Two"] == found["Four"]


def test_letters_are_those_of_markdown_and_text_alike() -> None:
    assert letters("## **H<sub>2</sub>O**, [a _page_](https://x.example)") == letters("H2O, a page")
