"""White stretches in bits are those that one finds by looking at columns one by one."""

from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt
import pytest

from ocr.layout.gutters import Gutter, bits_of, gutter_at, gutters, num_gutters, together


def by_columns(inked: npt.NDArray[np.bool_], least_px: int) -> list[Gutter]:
    hits = np.flatnonzero(inked).tolist()
    return [Gutter(left + 1, right) for left, right in pairwise(hits) if right - left > least_px]


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
    assert gutters(bits_of(np.array([0, 1, 0, 0, 0, 1, 0, 0], bool)), 3) == [Gutter(2, 5)]
    assert gutters(bits_of(np.array([0, 1, 0, 0, 0, 1, 0, 0], bool)), 4) == []
    assert gutters(0, 1) == []


def test_rows_together_have_the_ink_of_each() -> None:
    rows = [np.array(row, bool) for row in ([1, 0, 0, 0, 1], [0, 0, 1, 0, 0])]
    assert together(map(bits_of, rows)) == bits_of(rows[0] | rows[1])
    assert together([]) == 0


def test_a_gutter_is_the_white_around_its_place() -> None:
    inked = bits_of(np.array([0, 1, 0, 0, 0, 1, 0, 0], bool))
    assert [gutter_at(x, inked, 8) for x in (0, 2, 4, 7)] == [
        Gutter(0, 1), Gutter(2, 5), Gutter(2, 5), Gutter(6, 8)
    ]  # fmt: skip
    assert gutter_at(3, 0, 8) == Gutter(0, 8)


@pytest.mark.parametrize("seed", range(4))
def test_the_widest_white_beside_ink_remains(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(100):
        inked = rng.random(60) < rng.random()
        left, right = sorted(rng.integers(0, 60, 2).tolist())
        remains = Gutter(left, right).without(bits_of(inked))
        white = [len(list(group)) for has_ink, group in groupby(inked[left:right].tolist()) if not has_ink]
        assert remains.width == max(white, default=0)
        assert left <= remains.left <= remains.right <= right
        assert not inked[remains.left : remains.right].any()
