from tests.benchmarks.decoding.host_figures import measure


def test_every_page_writes_its_text() -> None:
    stats, seconds = measure(rows=3, tokens=120)
    lengths = [120 - 13 * row % 24 for row in range(3)]
    assert stats.tokens == sum(lengths) + 3, "and an end each"
    assert seconds > 0
