"""Where blocks of lines end, what stays together, and that no line is lost."""

import numpy as np
import pytest

from ocr.paragraphs.flow import ranges
from ocr.paragraphs.text_lines import Line
from tests.effort import effort

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
SIZE_PX, LETTER_PX = 20.0, 9.0


def row(base: float, *cells: tuple[str, float], block: int = 0) -> Line:
    """A line of cells, each with the place where it begins."""
    spans = tuple((x, x + LETTER_PX * len(text)) for text, x in cells)
    text = " ".join(text for text, _ in cells)
    return Line(block=block, text=text, spans=spans, base=base, size=SIZE_PX)


def put(texts: list[str], base: float, *, x: float = 80, pitch: float = 26, indent: float = 0) -> list[Line]:
    return [row(base + pitch * at, (text, x + (0 if at else indent))) for at, text in enumerate(texts)]


def parted(lines: list[Line]) -> list[tuple[int, int, str]]:
    found = list(ranges(lines))
    assert [start for start, _, _ in found] == [0, *(end for _, end, _ in found[:-1])]
    assert found[-1][1] == len(lines)
    return found


def test_a_gap_parts_paragraphs() -> None:
    lines = [*put(FIRST, 100), *put(SECOND, 100 + 26 * 4 + 8)]
    assert parted(lines) == [(0, 4, "text"), (4, 7, "text")]


def test_an_indent_parts_paragraphs_without_a_gap() -> None:
    first, second = [FIRST[0][4:], *FIRST[1:]], [SECOND[0][5:], *SECOND[1:]]
    lines = [*put(first, 100, indent=32), *put(second, 100 + 26 * 4, indent=32)]
    assert parted(lines) == [(0, 4, "text"), (4, 7, "text")]


@pytest.mark.parametrize("pitch", [26, 44])
def test_a_paragraph_with_equal_distances_stays_whole(pitch: float) -> None:
    assert parted(put([*FIRST[:3], *SECOND], 100, pitch=pitch)) == [(0, 6, "text")]


def test_columns_are_parted_although_the_text_runs_on() -> None:
    left, right = ([line[:30] for line in lines] for lines in (FIRST, SECOND))
    lines = [*put(left, 100, x=40), *put(right, 100, x=680)]
    assert parted(lines) == [(0, 4, "text"), (4, 7, "text")]


def test_rows_of_a_table_are_one_block() -> None:
    rows = [("name", "colour", "size"), ("apple", "red", "12"), ("pear", "green", "9"), ("plum", "blue", "5")]
    table = [
        row(100 + 44 * at, *((word, 80.0 + 200 * column) for column, word in enumerate(words)))
        for at, words in enumerate(rows)
    ]
    lines = [*table, *put(SECOND, 100 + 44 * 4 + 30)]
    assert parted(lines) == [(0, 4, "table"), (4, 7, "text")]


@pytest.mark.parametrize("pitch", [26, 44])
def test_items_are_one_list(pitch: float) -> None:
    items = ["1. buy bread and milk", "2. feed the cat", "3. water all of the flowers"]
    lines = [*put(items, 100, x=120, pitch=pitch), *put(FIRST, 100 + pitch * 3 + 40)]
    assert parted(lines) == [(0, 3, "list"), (3, 7, "text")]


def test_a_list_begins_right_below_its_heading() -> None:
    items = ["• buy bread and milk", "• feed the cat", "• water all of the flowers"]
    assert parted([*put(FIRST[:2], 100), *put(items, 152)]) == [(0, 2, "text"), (2, 5, "list")]


@pytest.mark.parametrize("hang", [0, 30])
def test_a_paragraph_right_below_a_list_is_none_of_its_items(hang: float) -> None:
    items = put(["• " + FIRST[0]], 100) + put([FIRST[0]], 126, x=80 + hang) + put(["• feed the cat"], 152)
    assert parted([*items, *put(FIRST, 178)]) == [(0, 3, "list"), (3, 7, "text")]


def test_a_long_table_takes_no_time() -> None:
    words = ["apple", "pear", "plum", "cherry", "lemon"]
    lines = [
        row(40 + 24 * at, *((words[(at * (n + 1) + n) % 5], 40.0 + 200 * n) for n in range(3)))
        for at in range(76)
    ]
    assert effort(lambda: parted(lines)) < 130
    assert parted(lines)[0][2] == "table"


@pytest.mark.parametrize("seed", range(20))
def test_every_line_is_in_one_block_wherever_lines_stand(seed: int) -> None:
    draw = np.random.default_rng(seed)
    parted(
        [
            row(
                float(draw.integers(0, 300)),
                (draw.choice(FIRST), float(draw.integers(0, 400))),
                block=int(block),
            )
            for block in np.sort(draw.integers(0, 4, 12))
        ]
    )
