import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocr.paragraphs.quantiles import median, percentile

VALUES = st.lists(st.floats(-1e6, 1e6) | st.integers(-50, 50).map(float), min_size=1, max_size=40)


@given(values=VALUES, percent=st.sampled_from([0, 30, 50, 65, 99, 100]))
def test_they_are_those_of_numpy_to_the_last_bit(values: list[float], percent: int) -> None:
    assert median(values) == float(np.median(values))
    assert percentile(values, percent) == float(np.percentile(values, percent))


def test_nothing_has_no_middle() -> None:
    for ask in (median, lambda values: percentile(values, 30)):
        with pytest.raises(IndexError):
            ask([])
