"""What calls for doubt in a page's lines lowers its confidence: that of its characters, without a calibration."""

from dataclasses import replace

import numpy as np
import pytest

from ocr.line_reader.found_lines import ReadLine, TextLine
from ocr.line_reader.language import StrangeLine
from ocr.line_reader.line_confidence import LineSignals, block_features, line_signals, page_features, rated
from ocr.transcript.confidence import Calibration, Curve
from ocr.types import Block, ParsedText

SURE = LineSignals(mean=1.0, low=1.0, doubted=0.0, num_chars=500, num_lines=20, num_left_out=0)
NOWHERE = TextLine(left=0, right=1, baseline=np.zeros(1, np.float32), size=10.0)
TEXT = ParsedText(text="a\n\nb", markdown="a\n\nb", blocks=(Block(label="text", text="a", confidence=0.9),))


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


@pytest.mark.parametrize("change", [{"mean": 0.9}, {"low": 0.5}, {"doubted": 0.2}, {"num_left_out": 4}])
def test_each_signal_is_a_feature_that_is_0_without_doubt(change: dict[str, float]) -> None:
    assert set(page_features(SURE).values()) == {0.0}
    changed = page_features(replace(SURE, **change))  # type: ignore[arg-type]
    assert sorted(changed.values())[:3] == [0.0, 0.0, 0.0]
    assert max(changed.values()) > 1


def test_a_page_without_lines_has_features_too() -> None:
    none = LineSignals(mean=0.0, low=0.0, doubted=0.0, num_chars=0, num_lines=0, num_left_out=9)
    assert page_features(none)["left_out"] > 5


def test_curves_rate_pages_and_blocks() -> None:
    signals = replace(SURE, mean=0.95)
    curve = Curve(bias=4.0, weights={"unsure": 1.0})
    parsed, confidence = rated(TEXT, signals, Calibration(page=curve, block=curve))
    assert confidence == curve(page_features(signals))
    assert parsed.blocks[0].confidence == curve(block_features(0.9, signals)) < confidence


def test_only_what_holds_a_strange_line_is_rated_by_it() -> None:
    curve = Curve(bias=4.0, weights={})
    line = TextLine(left=10, right=90, baseline=np.full(80, 50, np.float32), size=10.0)
    strange = StrangeLine(line=ReadLine(line=line, text="x" * 50, confidence=0.9), odds=8.0)
    box, far = (0, 40, 100, 60), (0, 140, 100, 160)
    blocks = tuple(
        Block(label="text", text="x" * 100, box_px=place, confidence=0.9) for place in (box, far, None)
    )
    parsed = ParsedText(text="", markdown="", blocks=blocks)
    rated_text, page = rated(parsed, SURE, Calibration(page=curve, block=curve), [strange])
    plain = curve({})
    assert [block.confidence for block in rated_text.blocks] == [
        pytest.approx((plain + strange.right) / 2), plain, plain
    ]  # fmt: skip
    assert page == pytest.approx(0.9 * plain + 0.1 * strange.right)


def test_without_curves_the_probabilities_stay() -> None:
    assert rated(TEXT, replace(SURE, mean=0.95), None) == (TEXT, 0.95)
