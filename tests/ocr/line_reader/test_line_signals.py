"""The signals of a page's lines."""

import numpy as np
import pytest

from ocr.line_reader.found_lines import ReadLine, TextLine
from ocr.line_reader.line_signals import LineSignals, line_signals

NOWHERE = TextLine(left=0, right=1, baseline=np.zeros(1, np.float32), size=10.0)


def read(num_chars: int, confidence: float) -> ReadLine:
    return ReadLine(line=NOWHERE, text="x" * num_chars, confidence=confidence)


def test_signals_count_characters_not_lines() -> None:
    signals = line_signals([read(80, 0.9), read(5, 0.3), read(15, 0.7)], num_left_out=2)
    assert signals.mean == pytest.approx(0.84)
    assert signals.low == 0.7
    assert signals.doubted == pytest.approx(0.2)
    assert (signals.num_chars, signals.num_lines, signals.num_left_out) == (100, 3, 2)


def test_a_page_without_lines_has_no_signals() -> None:
    expected = LineSignals(mean=0.0, low=0.0, doubted=0.0, num_chars=0, num_lines=0, num_left_out=0)
    assert line_signals([]) == expected
