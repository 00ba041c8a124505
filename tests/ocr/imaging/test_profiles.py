"""Runs and windows are those that one finds by looking at flags one by one."""

import numpy as np
import pytest

from ocr.imaging.profiles import counts_in_windows, doubling, runs


@pytest.mark.parametrize("size", [0, 1, 2, 90])
def test_runs_are_those_of_every_row(size: int) -> None:
    flags = np.random.default_rng(size).random((7, size)) < 0.6
    found = []
    for row, of_row in enumerate(flags.tolist()):
        starts = [x for x in range(size) if of_row[x] and not (x and of_row[x - 1])]
        ends = [x + 1 for x in range(size) if of_row[x] and not (x + 1 < size and of_row[x + 1])]
        assert [numbers.tolist() for numbers in runs(flags[row])] == [starts, ends]
        found += [(row, start, end) for start, end in zip(starts, ends, strict=True)]
    assert list(zip(*(numbers.tolist() for numbers in runs(flags)), strict=True)) == found


def test_doubling_steps_add_up() -> None:
    for length in range(1, 70):
        assert 1 + sum(doubling(length)) == length


@pytest.mark.parametrize(("height", "width"), [(1, 1), (3, 5), (9, 20)])
def test_windows_count_the_flags_in_them(height: int, width: int) -> None:
    flags = np.random.default_rng(3).random((9, 20)) < 0.3
    windows = np.lib.stride_tricks.sliding_window_view(flags, (height, width))
    assert np.array_equal(counts_in_windows(flags, height, width), windows.sum(axis=(2, 3)))
