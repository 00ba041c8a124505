"""The comparison counts what lies where, on pages whose words are known."""

from pathlib import Path

import pytest

from ocr.types import Word
from tests.benchmarks.layout.word_boxes import (
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
