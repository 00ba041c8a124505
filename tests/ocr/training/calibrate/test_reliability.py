import math
import random
from dataclasses import replace

import pytest

from ocr.training.calibrate.reliability import (
    Rated,
    cross_validated,
    expected_error,
    fit,
    rank_correlation,
    table,
)


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
