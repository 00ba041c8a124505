"""Quantiles are those that NumPy finds."""

import numpy as np
import pytest

from ocr.imaging.quantiles import quantiles

SHARES = (0.0, 0.015, 0.3, 0.5, 0.85, 0.97, 1.0)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 101, 1000])
def test_quantiles_are_those_of_numpy(size: int) -> None:
    values = np.random.default_rng(size).random((3, size), np.float32)
    assert np.array_equal(quantiles(values, SHARES), np.quantile(values, SHARES))
    assert np.array_equal(quantiles(values[::2, ::3], SHARES), np.quantile(values[::2, ::3], SHARES))


@pytest.mark.parametrize("size", [1, 2, 3, 10, 101, 1000])
def test_so_are_those_of_shades(size: int) -> None:
    shades = np.random.default_rng(size).integers(0, 256, (3, size), np.uint8)
    assert np.array_equal(quantiles(shades, SHARES), np.quantile(shades, SHARES))
    assert np.array_equal(quantiles(shades[:, ::3], SHARES), np.quantile(shades[:, ::3], SHARES))
