import numpy as np

from ocr.character_head.head_lines import find_lines
from tests.ocr.character_head.cells import drawn


def rows(*lines: str) -> list[tuple[float, int, int]]:
    return [(line.row, line.x0, line.rows) for line in find_lines(drawn(*lines))]


def test_lines_top_to_bottom_and_left_to_right():
    found = rows("·" * 24, "aaabbb" + "·" * 12 + "cccddd", "·" * 24, "eeefffggg" + "·" * 15)
    assert found == [(1.0, 0, 1), (1.0, 18, 1), (3.0, 0, 1)]


def test_large_type_takes_several_rows():
    line = "AAAAAAbbbbbbcccccc"
    (found,) = find_lines(drawn("·" * 18, line, line, "AAA···bb···ccc····"))
    assert found.rows == 3
    assert (found.cells == drawn(line)[0]).all()


def test_different_lines_close_together_stay_apart():
    assert len(rows("aaabbbcccdddeee", "fffggghhhiiijjj", "kkklllmmmnnnooo")) == 3


def test_a_line_askew_slips_into_the_next_row():
    (found,) = find_lines(drawn("·········dddeeefff", "aaabbbcccddd······"))
    assert (found.cells == drawn("aaabbbcccdddeeefff")[0]).all()


def test_specks_are_no_lines():
    assert rows("·····x····", "··········") == []
    assert find_lines(np.zeros((0, 0), np.int16)) == []
    assert find_lines(np.zeros((4, 8), np.int16)) == []
