from difflib import SequenceMatcher

import numpy as np
import pytest

from ocr.character_head.head_letters import LetterWidths, Runs, widths
from ocr.character_head.head_lines import find_lines
from ocr.training.tokens import CHARACTERS
from tests.ocr.character_head.cells import Cells, drawn, typed


def read(cells: Cells) -> list[str]:
    runs = [Runs.of(line.cells) for line in find_lines(cells)]
    letter_widths = LetterWidths(runs, CHARACTERS)
    return [letter_widths.read(line)[0] for line in runs]


def test_runs_of_equal_cells():
    runs = Runs.of(drawn("··aaa·bb·b")[0])
    assert runs.start.tolist() == [2, 6, 9]
    assert runs.length.tolist() == [3, 2, 1]


@pytest.mark.parametrize("font", ["helv", "tiro", "cour"])
def test_letters_doubled_letters_and_spaces(font):
    lines = [
        "The committee met on the first Monday of the month to",
        "hear what the members had to say about the old books,",
        "and a letter from Tennessee was read aloud to all of them.",
    ]
    cells, _ = typed(lines, font)
    assert SequenceMatcher(None, "\n".join(lines), "\n".join(read(cells)), autojunk=False).ratio() > 0.95


def test_typewriter_keeps_columns_of_narrow_letters():
    cells, _ = typed(["if (i + 1) { list[i].fill('|'); }", "illicit lilies, filled"], "cour")
    assert read(cells) == ["if (i + 1) { list[i].fill('|'); }", "illicit lilies, filled"]


def test_a_slip_between_letters_is_left_out():
    assert read(drawn("TTTTThhhhxeeeee··ooooolllddddd")) == ["The old"]


def test_nothing_to_read():
    assert LetterWidths([], CHARACTERS).read(Runs.of(np.zeros(8, np.int16)))[0] == ""
    assert Runs.of(np.zeros(0, np.int16)).mark.tolist() == []


def test_accented_letters_are_as_wide_as_their_bases():
    usual = widths(CHARACTERS)
    assert usual[CHARACTERS.index("é") + 2] == usual[CHARACTERS.index("e") + 2]
    assert usual[CHARACTERS.index("i") + 2] < usual[CHARACTERS.index("m") + 2]
