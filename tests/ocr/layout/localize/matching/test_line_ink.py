"""Ink is counted in small numbers and lists, for speed: here as it is defined."""

import numpy as np
import numpy.typing as npt
import pytest

from ocr.layout.localize.matching import line_ink


def plain_ink(area_HW: npt.NDArray[np.uint8]) -> list[float]:
    paper = int(np.median(area_HW[::2, ::3]))
    dark = np.maximum(np.abs(area_HW.astype(np.int16) - paper) - 12, 0)
    found = dark.mean(1)
    if dark.shape[1] >= 96:
        found *= (dark > 0).mean(1) < 0.8
    return list(found)


@pytest.mark.parametrize("paper", [0, 3, 100, 128, 247, 255])
@pytest.mark.parametrize("size", [(1, 1), (1, 2), (48, 95), (47, 96), (48, 256), (64, 383)])
def test_a_rows_ink_is_how_far_it_is_from_paper_on_average(paper: int, size: tuple[int, int]) -> None:
    generator = np.random.default_rng([paper, *size])
    area = generator.integers(max(0, paper - 14), min(255, paper + 14) + 1, size).astype(np.uint8)
    area[generator.random(size) < 0.2] = 255 - paper
    area[size[0] // 2] = 128  # a rule, or a row of paper
    assert line_ink._ink(area) == plain_ink(area)


def test_an_area_of_nothing_holds_no_ink() -> None:
    assert line_ink._ink(np.zeros((4, 0), np.uint8)) == []
    assert line_ink._ink(np.zeros((0, 4), np.uint8)) == []


def test_a_line_lies_where_it_was_drawn_and_a_blank_one_nowhere() -> None:
    grey = np.full((160, 640), 250, np.uint8)
    assert line_ink.band(grey, (5, 4, 150, 5), "onamac") is None
    grey[66:76, 24:600:6] = 20  # letters without ascenders or descenders, as dense all over
    found = line_ink.band(grey, (5, 4, 150, 5), "onamac")
    assert found is not None
    size = 10 / 0.45
    assert found == pytest.approx((76 - 0.77 * size, 76 + 0.23 * size))


@pytest.mark.parametrize(
    ("at", "step", "number"),
    [(0, 1, 2), (1, 1, 1), (2, 1, 0), (4, -1, 2), (1, -1, 2), (-1, -1, 0), (5, 1, 0)],
)
def test_rows_are_counted_up_to_the_first_with_less(at: int, step: int, number: int) -> None:
    assert line_ink._num_over([5.0, 3.0, 1.0, 3.0, 5.0], at, step, 3.0) == number
