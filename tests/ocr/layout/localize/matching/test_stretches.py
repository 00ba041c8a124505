import numpy as np
import pytest

from ocr.layout.localize.matching import stretches
from tests.ocr.layout.localize.matching.test_chain import random_stretches


@pytest.mark.parametrize("count", [0, 1, 5, 60, 300])
def test_stretches_last_where_they_are_a_third_of_the_longest_over_some_mark(count: int) -> None:
    found = random_stretches(max(count, 1), count).take(np.arange(count))
    length = 3 * count + 60
    longest = [
        max(
            (score for a, b, score in zip(found.start, found.end, found.score, strict=True) if a <= at < b),
            default=0,
        )
        for at in range(length)
    ]
    wanted = [
        score >= 0.34 * min(longest[start:end])
        for start, end, score in zip(found.start, found.end, found.score, strict=True)
    ]
    kept = stretches._lasting(found, length)
    assert kept.dtype == bool
    assert kept.tolist() == wanted
    assert count < 60 or len(set(wanted)) == 2
