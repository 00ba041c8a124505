"""Plain output on pages drawn by hand: where blocks end, what stays together, and that the text stays as it is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocr.layout.localize.matching.canvas import Canvas
from ocr.layout.localize.paragraphs.parting import is_plain, parted
from ocr.transcript.grounding import parse
from ocr.types import Block
from tests.effort import effort
from tests.ocr.layout.localize.drawn import CHARACTERS, Box, DrawnPage, around

FIRST = [
    "the quick brown fox jumps over a dog and then waits for six",
    "more hours behind the garden fence until nobody walks along",
    "that dusty road from one town up to another where old women",
    "sell apples.",
]
SECOND = [
    "when evening comes each window lights up with a yellow glow",
    "that can be seen from far away across fields and low hills,",
    "as always.",
]


def part(page: DrawnPage, raw: str) -> tuple[Block, ...]:
    high, wide = page.grey.shape
    canvas = Canvas(grey=page.grey, box=(0, 0, wide, high), width_px=wide, height_px=high)
    blocks = parse(raw, width_px=wide, height_px=high).blocks
    assert is_plain(blocks)
    found = parted(blocks, page.cells, CHARACTERS, canvas)
    for block in found:
        assert block.raw_span is not None
        assert raw[slice(*block.raw_span)] == block.text
    assert "".join("".join(block.text for block in found).split()) == "".join(raw.split())
    return found


def put(
    page: DrawnPage, lines: list[str], base: float, *, cell: int = 20, pitch: float = 26, indent: int = 0
) -> Box:
    """Draws lines below each other, the first one indented by so many cells; returns the box around them."""
    places = [(cell + (0 if at else indent), base + pitch * at) for at in range(len(lines))]
    return around(*(page.put(line, x, y) for line, (x, y) in zip(lines, places, strict=True)))


def test_a_gap_that_is_no_blank_line_parts_paragraphs() -> None:
    page = DrawnPage()
    boxes = [put(page, FIRST, 100), put(page, SECOND, 100 + 26 * 4 + 8)]
    found = part(page, "\n".join([*FIRST, *SECOND]))
    assert [block.text for block in found] == ["\n".join(FIRST), "\n".join(SECOND)]
    for block, box in zip(found, boxes, strict=True):
        assert block.box_px is not None
        assert all(abs(a - b) < 5 for a, b in zip(block.box_px, box, strict=True))


def test_an_indent_parts_paragraphs_without_a_gap() -> None:
    page = DrawnPage()
    first, second = [FIRST[0][4:], *FIRST[1:]], [SECOND[0][5:], *SECOND[1:]]
    put(page, first, 100, indent=8)
    put(page, second, 100 + 26 * 4, indent=8)
    found = part(page, "\n".join([*first, *second]))
    assert [block.text for block in found] == ["\n".join(first), "\n".join(second)]


def test_a_paragraph_with_equal_distances_stays_whole() -> None:
    page = DrawnPage()
    put(page, [*FIRST[:3], *SECOND], 100)
    assert len(part(page, "\n".join([*FIRST[:3], *SECOND]))) == 1


def test_running_text_of_wide_distances_is_joined_over_blank_lines() -> None:
    page = DrawnPage()
    lines = [*FIRST[:3], *SECOND]
    put(page, lines, 100, pitch=44)
    assert [block.text for block in part(page, "\n\n".join(lines))] == ["\n\n".join(lines)]


def test_columns_are_parted_although_the_text_runs_on() -> None:
    page = DrawnPage(width_px=1280)
    left, right = [line[:30] for line in FIRST], [line[:30] for line in SECOND]
    put(page, left, 100, cell=10)
    put(page, right, 100, cell=170)
    found = part(page, "\n".join([*left, *right]))
    assert [block.text for block in found] == ["\n".join(left), "\n".join(right)]


def test_rows_of_a_table_are_one_block() -> None:
    page = DrawnPage()
    rows = [("name", "colour", "size"), ("apple", "red", "12"), ("pear", "green", "9"), ("plum", "blue", "5")]
    for at, row in enumerate(rows):
        for column, word in enumerate(row):
            page.put(word, 20 + 50 * column, 100 + 44 * at)
    put(page, SECOND, 100 + 44 * 4 + 30)
    table = "\n\n".join(" ".join(row) for row in rows)
    found = part(page, f"{table}\n\n" + "\n".join(SECOND))
    assert [(block.label, block.text) for block in found] == [("table", table), ("text", "\n".join(SECOND))]
    assert found[0].box_px is not None
    assert found[0].box_px[1] < 100 < 100 + 44 * 3 < found[0].box_px[3] + 1


@pytest.mark.parametrize("pitch", [26, 44])
def test_items_are_one_list(pitch: float) -> None:
    page = DrawnPage()
    items = ["1. buy bread and milk", "2. feed the cat", "3. water all of the flowers"]
    put(page, items, 100, cell=30, pitch=pitch)
    put(page, FIRST, 100 + pitch * 3 + 40)
    raw = ("\n" if pitch == 26 else "\n\n").join(items)
    found = part(page, raw + "\n\n" + "\n".join(FIRST))
    assert [(block.label, block.text) for block in found] == [("list", raw), ("text", "\n".join(FIRST))]


def test_lines_that_are_not_on_the_page_stay_with_their_paragraph() -> None:
    page = DrawnPage()
    put(page, FIRST[:3], 100)
    raw = "\n".join([*FIRST[:2], "WXYZ 0987", FIRST[2]]) + "\n\nQQQQ"
    found = part(page, raw)
    assert [block.text for block in found] == raw.split("\n\n")
    assert found[1].box_px is None


def test_only_output_without_regions_is_plain() -> None:
    region = "<|ref|>text<|/ref|><|det|>[[0, 0, 999, 99]]<|/det|>\none"
    cut_off = "<|ref|>text<|/ref|><|det|>[[0, 0,<|/det|>\none"
    assert not is_plain(parse(region, width_px=9, height_px=9).blocks)
    assert not is_plain(parse(cut_off, width_px=9, height_px=9).blocks)
    assert is_plain(parse("one\n\ntwo", width_px=9, height_px=9).blocks)


def test_a_long_table_takes_no_time() -> None:
    page = DrawnPage(width_px=640, height_px=1920)
    words = ["apple", "pear", "plum", "cherry", "lemon"]
    for at in range(76):
        for column in range(3):
            page.put(words[(at * (column + 1) + column) % 5], 10 + 50 * column, 40 + 24 * at)
    rows = [" ".join(words[(at * (column + 1) + column) % 5] for column in range(3)) for at in range(76)]
    assert effort(lambda: part(page, "\n\n".join(rows))) < 130
    assert part(page, "\n\n".join(rows))[0].label == "table"


@given(st.lists(st.text(alphabet=CHARACTERS + " \n", max_size=40), max_size=6), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_the_text_stays_whatever_is_read_and_seen(texts: list[str], seed: int) -> None:
    page = DrawnPage(width_px=160, height_px=96)
    rng = np.random.default_rng(seed)
    page.cells[:] = rng.integers(0, 8, page.cells.shape)
    page.grey[:] = rng.integers(0, 256, page.grey.shape)
    raw = "\n\n".join(texts)
    wide, high = 160, 96
    canvas = Canvas(grey=page.grey, box=(0, 0, wide, high), width_px=wide, height_px=high)
    blocks = parse(raw, width_px=wide, height_px=high).blocks
    found = parted(blocks, page.cells, CHARACTERS, canvas)
    assert "".join("".join(block.text for block in found).split()) == "".join(raw.split())
    for block in found:
        assert block.box_px is None or block.box_px[0] < block.box_px[2] <= wide
