"""The program that times processors within a run, on small pictures."""

from tests.benchmarks.runs.families.processors import processor_ms


def test_every_page_is_timed_in_the_preparers_thread() -> None:
    found = processor_ms("paddleocr_vl", 2, 15680)
    assert list(found) == ["preparer"]
    assert len(found["preparer"]) == 2
    assert min(found["preparer"]) > 0
