"""White stretches in bits are those that one finds by looking at columns one by one."""

import numpy as np
import numpy.typing as npt
import pytest

from ocr.layout.white import bits_of, gutters, num_gutters, together


def by_columns(inked: npt.NDArray[np.bool_], least_px: int) -> list[int]:
    hits = np.flatnonzero(inked)
    wide = np.flatnonzero(np.diff(hits) > least_px)
    return [int(hits[index] + hits[index + 1]) // 2 + 1 for index in wide]


@pytest.mark.parametrize("seed", range(8))
def test_they_are_those_between_ink(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(200):
        inked = np.repeat(rng.random(rng.integers(0, 120)) < rng.random(), rng.integers(1, 9))
        least_px = int(rng.integers(1, 40))
        expected = by_columns(inked, least_px)
        assert gutters(bits_of(inked), least_px) == expected
        assert num_gutters(bits_of(inked), least_px) == len(expected)


def test_a_row_alone() -> None:
    assert gutters(bits_of(np.array([0, 1, 0, 0, 0, 1, 0, 0], bool)), 3) == [4]
    assert gutters(bits_of(np.array([0, 1, 0, 0, 0, 1, 0, 0], bool)), 4) == []
    assert gutters(0, 1) == []


def test_rows_together_have_the_ink_of_each() -> None:
    rows = [np.array(row, bool) for row in ([1, 0, 0, 0, 1], [0, 0, 1, 0, 0])]
    assert together(map(bits_of, rows)) == bits_of(rows[0] | rows[1])
    assert together([]) == 0
