import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.benchmarks.layout.boxes import iou
from tests.effort import effort
from tests.ocr.layout.localize.drawn import CHARACTERS, Box, DrawnPage, around

LINES = [
    "the quick brown fox jumps",
    "over a lazy dog and then",
    "waits for six more hours",
    "behind the garden fence",
]


def near(found: tuple[int, int, int, int] | None, wanted: Box, within: float = 3) -> bool:
    return found is not None and all(abs(a - b) <= within for a, b in zip(found, wanted, strict=True))


def test_a_line_gets_the_box_it_was_drawn_in_wherever_it_stands_between_rows() -> None:
    for base in range(100, 116):
        page = DrawnPage()
        wanted = page.put(LINES[0], 20, base)
        (found,) = page.place([LINES[0]])
        assert near(found.box_px, wanted), f"{found.box_px} is not {wanted}"
        assert found.share == 1


def test_paragraphs_are_told_apart_and_their_line_breaks_do_not_matter() -> None:
    page = DrawnPage()
    first = around(*(page.put(line, 20, 100 + 24 * at) for at, line in enumerate(LINES[:2])))
    second = around(*(page.put(line, 20, 200 + 24 * at) for at, line in enumerate(LINES[2:])))
    for separator in ("\n", " "):
        places = page.place([separator.join(LINES[:2]), separator.join(LINES[2:])])
        assert near(places[0].box_px, first)
        assert near(places[1].box_px, second)


def test_equal_lines_go_by_the_order_of_reading() -> None:
    page = DrawnPage()
    wanted = [page.put("total of this page: 12", 20, 100 + 40 * at) for at in range(6)]
    places = page.place(["total of this page: 12"] * 6)
    assert all(near(found.box_px, box) for found, box in zip(places, wanted, strict=True))


def test_columns_side_by_side() -> None:
    page = DrawnPage()
    left = around(*(page.put(line, 10, 100 + 24 * at) for at, line in enumerate(LINES)))
    other = [line[::-1] for line in LINES]
    right = around(*(page.put(line, 130, 100 + 24 * at) for at, line in enumerate(other)))
    places = page.place(["\n".join(LINES), "\n".join(other)])
    assert near(places[0].box_px, left)
    assert near(places[1].box_px, right)


@pytest.mark.parametrize("slope", [-0.035, 0.02, 0.035])
def test_a_skewed_page(slope: float) -> None:
    page = DrawnPage()
    lines = [" ".join([line, LINES[at - 1], line[:12]]) for at, line in enumerate(LINES)]
    wanted = around(*(page.put(line, 20, 200 + 30 * at, slope) for at, line in enumerate(lines)))
    alone = page.put("one more line below them all", 20, 460, slope)
    places = page.place(["\n".join(lines), "one more line below them all"])
    assert places[0].box_px is not None
    assert iou(places[0].box_px, wanted) > 0.9
    assert places[1].box_px is not None
    assert iou(places[1].box_px, alone) > 0.8


def test_misread_characters_do_not_move_a_box() -> None:
    page = DrawnPage()
    wanted = around(*(page.put(line, 20, 100 + 24 * at) for at, line in enumerate(LINES)))
    page.cells[:, 40:46] = 0  # the head is unsure
    text = "\n".join(LINES).replace("dog", "clog").replace("hours", "bours").replace("the", "tbe")
    (found,) = page.place([text])
    assert near(found.box_px, wanted, within=5)
    assert 0.6 < found.share < 1


def test_a_line_whose_ends_were_misread_is_whole() -> None:
    page = DrawnPage()
    wanted = page.put("xq quick brown fox jumps zw", 20, 100)
    (found,) = page.place(["to quick brown fox jumps at"])
    assert near(found.box_px, wanted)


def test_what_does_not_stand_there_has_no_place() -> None:
    page = DrawnPage()
    page.put(LINES[0], 20, 100)
    places = page.place(["Nothing at all like it", "", LINES[0]])
    assert [found.box_px is None for found in places] == [True, True, False]
    assert (places[0].share, places[1].share) == (0, 0)


def test_a_page_number_is_found_where_it_stands_alone() -> None:
    page = DrawnPage()
    page.put("in 12 of 40 cases", 20, 100)
    wanted = page.put("12", 120, 600)
    places = page.place(["in 12 of 40 cases", "12"])
    assert near(places[1].box_px, wanted)


def test_the_last_word_of_a_line_behind_a_wide_gap() -> None:
    page = DrawnPage()
    wanted = around(page.put("chapter seven", 20, 100), page.put("73", 200, 100))
    (found,) = page.place(["chapter seven 73"])
    assert near(found.box_px, wanted)


def test_a_few_equal_words_elsewhere_do_not_stretch_a_box() -> None:
    page = DrawnPage()
    wanted = around(*(page.put(line, 20, 60 + 24 * at) for at, line in enumerate(LINES)))
    page.cells[3:11, 60:66] = 0
    page.put("jumps", 20, 600)
    page.put("hours", 160, 600)
    (found,) = page.place(["\n".join(LINES)])
    assert near(found.box_px, wanted)


def test_large_text_fills_several_rows() -> None:
    page = DrawnPage()
    for index, letter in enumerate("CHAPTER"):
        x = 30 + 10 * index
        page.cells[6:9, x : x + 9] = CHARACTERS.index(letter) + 2
        page.grey[96:144, 4 * x + 4 : 4 * x + 32] = 0
    (found,) = page.place(["CHAPTER"])
    assert found.box_px is not None
    assert iou(found.box_px, (120, 96, 120 + 280, 144)) > 0.65


def test_a_page_of_nothing_but_leaders_takes_no_time() -> None:
    page = DrawnPage(width_px=1280, height_px=1920)
    row = np.where(np.arange(page.cells.shape[1]) % 6 < 2, CHARACTERS.index(".") + 2, 0)
    row[3::6] = CHARACTERS.index("-") + 2
    page.cells[::2] = row
    assert effort(lambda: page.place([". - " * 3000])) < 130


def test_a_long_table_of_equal_rows_takes_no_time_and_keeps_their_order() -> None:
    page = DrawnPage(width_px=1280, height_px=1920)
    rows = ["total of every page in this volume: 12, in the next one: 34"] * 72
    wanted = [page.put(row, 20, 40 + 26 * at) for at, row in enumerate(rows)]
    assert effort(lambda: page.place(rows)) < 130
    places = page.place(rows)
    near_enough = [near(found.box_px, box) for found, box in zip(places, wanted, strict=True)]
    assert sum(near_enough) >= 70


@given(st.lists(st.text(alphabet=CHARACTERS + " \n", max_size=40), max_size=6), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_boxes_are_inside_the_page_whatever_is_read_and_seen(texts: list[str], seed: int) -> None:
    page = DrawnPage(width_px=160, height_px=96)
    rng = np.random.default_rng(seed)
    page.cells[:] = rng.integers(0, 8, page.cells.shape)
    page.grey[:] = rng.integers(0, 256, page.grey.shape)
    for found in page.place(texts):
        assert 0 <= found.share <= 1
        if found.box_px is not None:
            x0, y0, x1, y1 = found.box_px
            assert 0 <= x0 < x1 <= 160
            assert 0 <= y0 < y1 <= 96


def test_only_the_places_that_are_asked_for_are_found_and_they_are_the_same() -> None:
    page = DrawnPage()
    for at, line in enumerate(LINES):
        page.put(line, 20, 100 + 40 * at)
    every = page.place(LINES)
    assert page.place(LINES, wanted=range(len(LINES))) == every
    some = page.place(LINES, wanted=[1, 3])
    assert [some[1], some[3]] == [every[1], every[3]]
    assert [some[0].box_px, some[2].box_px] == [None, None]
