import pytest

from tests.benchmarks.decoding.host_figures import measure


@pytest.mark.parametrize("wrong", [None, 0.02])
def test_every_page_writes_its_text(wrong: float | None) -> None:
    stats, seconds = measure(rows=3, tokens=120, wrong=wrong)
    lengths = [120 - 13 * row % 24 for row in range(3)]
    assert stats.tokens == sum(lengths) + 3, "and an end each"
    assert (stats.draft_steps > 0) == (wrong is not None)
    assert seconds > 0
