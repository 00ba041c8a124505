"""Lines of programs stay whole and indented; tables and typewritten letters are as they were."""

from typing import Any

import numpy as np
import pytest

from ocr.line_reader.found_lines import ReadLine, TextLine
from ocr.line_reader.page_text import page_text
from ocr.line_reader.program_lines import character_px
from tests.ocr.line_reader.printed import printed, shipped

PROGRAM = [
    "def moored(boats):", '    for boat in boats["north"]:', "        if not boat.is_home:",
    "            continue", "        yield boat, boat.berth[0]", "", "count = len(set(moored(BOATS)))",
    'print("at home:", count)',
]  # fmt: skip


@pytest.mark.parametrize(("font", "size"), [("cour", 11), ("cour", 8), ("cobo", 10)])
def test_a_program_keeps_its_lines_and_their_indentation(font: str, size: float) -> None:
    def draw(page: Any) -> None:
        page.insert_text(
            (40, 40), "The boats that are at home are counted so:", fontsize=size, fontname="tiro"
        )
        for number, line in enumerate(PROGRAM):
            page.insert_text((40, 70 + 1.25 * size * number), line, fontsize=size, fontname=font)

    darkness, reader = printed(draw, dpi=200), shipped()
    page = page_text(reader.read(darkness, reader.find(darkness)))
    assert [block.label for block in page.blocks] == ["text", "code"]
    assert page.blocks[1].text == "\n".join(PROGRAM)
    assert page.markdown.endswith("```\n" + "\n".join(PROGRAM) + "\n```")
    assert [word.text for word in page.words] == page.text.split()


def read(text: str, left: int, base: int, width: int) -> ReadLine:
    line = TextLine(left=left, right=left + width, baseline=np.full(width, base, np.float32), size=20.0)
    return ReadLine(line=line, text=text, confidence=0.9)


def typed(text: str, column: int, row: int) -> ReadLine:
    return read(text, 50 + 12 * column, 100 + 26 * row, 12 * len(text))


def test_pieces_are_joined_as_far_apart_as_they_stand_and_what_is_read_twice_stands_once() -> None:
    pieces = [
        typed("if a[0] == 1 and b:", 0, 0), typed("b = {2: 3}", 4, 1), typed("# two", 18, 1),
        typed("return b[2]", 0, 2), typed("b[2]", 7, 2), typed("x = [4, 5]", 0, 3),
    ]  # fmt: skip
    assert page_text(pieces).text == "if a[0] == 1 and b:\n    b = {2: 3}    # two\nreturn b[2]\nx = [4, 5]"


def test_a_typewritten_letter_and_a_table_are_no_programs() -> None:
    letter = [
        "Dear Sir (or Madam),",
        "we have had no answer",
        "to our letter of May:",
        "none, so far, at all",
        "came",
    ]
    lines = [typed(line, 0, row) for row, line in enumerate(letter)]
    assert page_text(lines).text.split("\n")[0] == letter[0]
    assert "code" not in {block.label for block in page_text(lines).blocks}
    cells = [typed(f"{7 * column * row + 1}", 14 * column, row) for row in range(4) for column in range(3)]
    assert character_px(cells) == 0
    assert [block.label for block in page_text(cells).blocks] == ["table"]


def test_words_that_happen_to_be_as_wide_are_no_program() -> None:
    """As in an invoice in proportional type: "Zahlungsart:" and "Zahlungsbedingungen:" were a program's lines."""
    texts = ["payable at once:", "Zahlungsart:", "Zahlungsbedingungen:", "Verkäufernummer:", "(net) kind 5:"]
    lines = [typed(text, 0, row) for row, text in enumerate(texts)]
    assert character_px(lines) == 0
    assert character_px([*lines, typed("x = [4, 5]", 0, 9)]) == 12
