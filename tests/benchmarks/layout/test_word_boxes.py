"""The comparison counts what lies where, on pages whose words are known."""

import random
from pathlib import Path

import pytest

from ocr.types import Word
from tests.benchmarks.layout.erring_text import written
from tests.benchmarks.layout.word_boxes import (
    erring_line,
    iou,
    layer,
    overlap_line,
    pages,
    truth,
)

REPORT = Path(__file__).parents[2] / "samples" / "report.pdf"


def test_iou_of_boxes() -> None:
    assert iou((0, 0, 10, 10), (0, 0, 10, 10)) == 1.0
    assert iou((0, 0, 10, 10), (0, 5, 10, 15)) == pytest.approx(1 / 3)
    assert iou((0, 0, 10, 10), (10, 0, 20, 10)) == 0.0


def test_a_layer_lies_on_itself_and_a_shifted_one_does_not() -> None:
    (document, page), *_ = pages([REPORT], 1)
    words, found = truth(page), layer(document, page)
    line = overlap_line("layers", iter([(words, found)]))
    assert "1 pages" in line
    assert "100.0% with a box" in line
    assert float(line.split("median IoU ")[1].split()[0]) > 0.9
    away = [Word(text=word.text, box_px=(5000, 5000, 5010, 5010)) for word in found]
    assert "0.0% of the truth's" in overlap_line("away", iter([(words, away)]))


def test_a_text_with_errors_keeps_the_boxes_of_its_words() -> None:
    chosen = list(pages([REPORT], 2))
    line = erring_line("layers", chosen, layer)
    assert line.startswith("layers: 2 pages")
    assert float(line.split("of these with a box")[0].split(", ")[-1].rstrip("% ")) > 90
    assert float(line.split("median IoU ")[1].split(",")[0]) > 0.9
    assert float(line.split("; ")[2].split("%")[0]) < 5
    assert "0.0% of these with a box" in erring_line("nothing", chosen, lambda *_: ())


def test_a_text_with_errors_is_that_of_the_page_but_for_errors() -> None:
    (_, page), *_ = pages([REPORT], 1)
    words = page.get_text("words")
    own = written(words, random.Random(4))
    kept = [number for word in own for number in word.numbers]
    assert 0.9 * len(words) < len(set(kept)) == len(kept) < len(words)
    assert kept != sorted(kept), "blocks were moved"
    same = sum(word.text == words[word.numbers[0]][4] for word in own if word.numbers)
    assert 0.6 * len(words) < same < 0.98 * len(words)
