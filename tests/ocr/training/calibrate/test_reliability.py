import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from rapidfuzz.distance import Levenshtein

from ocr.training.calibrate.reliability import (
    Rated,
    Reading,
    block_accuracies,
    calibrate,
    cross_validated,
    expected_error,
    fit,
    page_accuracy,
    rank_correlation,
    table,
)
from ocr.transcript.confidence import Calibration


def drawn(count: int, seed: int = 0) -> list[Rated]:
    """Accuracy follows `doubt`; `noise` says nothing; `praise` would raise confidence, which none may."""
    rng = random.Random(seed)
    items = []
    for group in range(count):
        doubt = rng.uniform(0, 4)
        accuracy = 1 / (1 + math.exp(-(3 - 1.5 * doubt)))
        features = {"doubt": doubt, "noise": rng.random(), "praise": accuracy + rng.gauss(0, 0.05)}
        items.append(Rated(features=features, accuracy=accuracy, group=group))
    return items


def test_the_curve_is_found_and_never_rises() -> None:
    curve = fit(drawn(200))
    assert curve.bias == pytest.approx(3, abs=0.2)
    assert curve.weights["doubt"] == pytest.approx(1.5, abs=0.1)
    assert curve.weights.get("noise", 0) < 0.1
    assert "praise" not in curve.weights


def test_cross_validated_confidence_is_calibrated() -> None:
    items = drawn(200)
    accuracy = [item.accuracy for item in items]
    assert expected_error(cross_validated(items), accuracy) < 0.02
    assert expected_error([0.9] * 200, accuracy) == pytest.approx(abs(0.9 - sum(accuracy) / 200))


def test_expected_error_is_over_bins_and_not_items() -> None:
    assert expected_error([0.55, 0.55], [0.0, 1.0]) == pytest.approx(0.05)
    assert expected_error([0.05, 0.95], [1.0, 0.0]) == pytest.approx(0.95)
    assert expected_error([1.0], [1.0]) == 0


def test_the_table_shows_bins_that_hold_something() -> None:
    lines = list(table([0.55, 0.56, 1.0], [0.4, 0.6, 1.0]))
    assert len(lines) == 3
    assert lines[1].split() == ["0.5", "to", "0.6", "2", "55.5%", "50.0%"]
    assert lines[2].split()[-2:] == ["100.0%", "100.0%"]


def test_heavy_items_count_more() -> None:
    assert expected_error([0.55, 0.55], [0.0, 1.0], [1, 3]) == pytest.approx(0.2)
    (_, line) = table([0.55, 0.55], [0.0, 1.0], [1, 3])
    assert line.split()[-1] == "75.0%"
    items = [*drawn(100), *(replace(item, accuracy=0.0, weight=0.0) for item in drawn(100, seed=1))]
    assert fit(items).bias == pytest.approx(3, abs=0.2)


def test_rank_correlation() -> None:
    assert rank_correlation([0.1, 0.5, 0.7], [0.3, 0.4, 0.9]) == pytest.approx(1)
    assert rank_correlation([0.1, 0.5, 0.7], [0.9, 0.4, 0.3]) == pytest.approx(-1)


def test_what_was_read_is_fitted_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = ((item, is_page) for item in drawn(60) for is_page in (True, False))
    calibrate([Reading(rated=item, raw=0.99, is_page=is_page) for item, is_page in both], tmp_path)
    curve = Calibration.read(tmp_path / "confidence.json").page
    sure, doubtful = (curve({"doubt": doubt, "noise": 0.5, "praise": 0.5}) for doubt in (0.0, 3.0))
    assert sure == pytest.approx(0.95, abs=0.05)
    assert doubtful == pytest.approx(0.18, abs=0.1)
    told = capsys.readouterr().out
    assert told.startswith("60 pages\nuncalibrated: expected calibration error ")
    assert "60 blocks, weighted by their characters" in told


def test_a_page_is_compared_as_a_whole() -> None:
    assert page_accuracy("one  two\nthree", "one two three") == 1
    assert page_accuracy("one two", "one two three") == pytest.approx(7 / 13)
    assert page_accuracy("", "") == 1
    assert page_accuracy("invented", "") == 0
    assert page_accuracy("x" * 99, "ab") == 0


TRUTH = "The first paragraph of all\n\nthe second paragraph of it\n\nthird"


def test_blocks_are_compared_where_they_stand() -> None:
    assert (
        block_accuracies(["The first paragraph of all", "the second paragraph of it", "third"], TRUTH)
        == [1] * 3
    )
    assert block_accuracies(["The first paragraph of all", "thirt"], TRUTH) == [1, 0.8]
    assert block_accuracies(["f", "i", "t"], "q") == [0, 0, 0]
    assert block_accuracies(["text", ""], "") == [0, 1]
    assert block_accuracies([], TRUTH) == []


def test_a_skipped_paragraph_is_no_blocks_fault_but_a_skipped_word_is() -> None:
    assert block_accuracies(["The first paragraph of all", "third"], TRUTH) == [1, 1]
    assert block_accuracies(["The first of all"], TRUTH) == [pytest.approx(11 / 16)]


def test_long_blocks_may_stand_in_another_order() -> None:
    assert block_accuracies(["the second paragraph\nof it", "The first paragraph of all"], TRUTH) == [1, 1]


def test_the_nearest_part_is_the_nearest() -> None:
    rng = random.Random(0)
    for _ in range(30):
        text = "".join(rng.choices("ab", k=rng.randint(20, 24)))
        truth = "".join(rng.choices("abc", k=rng.randint(0, 30)))
        parts = {truth[i:j] for i in range(len(truth) + 1) for j in range(i, len(truth) + 1)}
        nearest = min(Levenshtein.distance(text, part) for part in parts)
        assert block_accuracies([text], truth) == [pytest.approx(max(0, 1 - nearest / len(text)))]
