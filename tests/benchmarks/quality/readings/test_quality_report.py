"""Totals leave out handwriting; confidence is compared with accuracy; tables show the figures."""

import pytest

from tests.benchmarks.quality.readings.engines import Reading, SetReading
from tests.benchmarks.quality.readings.report import (
    calibration_error,
    calibration_lines,
    cost_lines,
    set_lines,
)
from tests.benchmarks.quality.scoring.scores import Score, score
from tests.benchmarks.quality.scoring.summary import ALL, as_dict, summarise


def _page(category: str, truth: str, text: str, confidence: float | None = None) -> Score:
    reading = Reading(text=text, status="ok", confidence=confidence)
    return score(f"{category}-x-1", category, truth, reading)


_SCORES = [
    _page("manual", "abcdefghij" * 3, "abcdefghij" * 3),
    _page("manual", "abcdefghij", "abcdefghix"),
    _page("book", "abcdefghij", "abcdefgxxx"),
    _page("handwriting", "abcdefghij", "x"),
]
_READING = SetReading(
    engine="ocrbatch",
    pages={str(number): Reading(text="", status="ok") for number in range(4)},
    cpu_s=8.0,
    wall_s=16.0,
)


def test_totals_weigh_pages_by_length_and_leave_out_handwriting() -> None:
    summary = summarise("scans", _READING, _SCORES)
    rows = {row.category: row for row in summary.rows}
    assert list(rows) == ["book", "handwriting", "manual", ALL]
    assert rows["manual"].cer == pytest.approx(1 / 40)
    assert rows["manual"].median_cer == pytest.approx(0.05)
    assert rows[ALL].cer == pytest.approx(4 / 50)
    assert rows[ALL].num_pages == 3
    assert summary.num_wrong_ok == 1
    assert (summary.cpu_s, summary.wall_s) == (2.0, 4.0)


def test_the_file_holds_every_page() -> None:
    kept = as_dict(summarise("scans", _READING, _SCORES), _SCORES)
    assert [page["cer"] for page in kept["pages"]][:3] == pytest.approx([0.0, 0.1, 0.3])
    assert kept["rows"][-1]["category"] == ALL


def test_calibration_is_the_weighed_gap() -> None:
    pages = [
        _page("prose", "abcdefghij", "abcdefghij", 0.95),
        _page("prose", "abcdefghij", "abcdefghij", 0.97),
        _page("prose", "abcdefghij", "abcdexxxxx", 0.8),
        _page("prose", "abcdefghij", "x", None),
    ]
    assert calibration_error(pages) == pytest.approx((2 * 0.04 + 0.3) / 3)
    bins = [line.split()[:4] for line in calibration_lines("scans", pages)[2:]]
    assert bins == [["0.8", "to", "0.9", "1"], ["0.9", "to", "1.0", "2"]]


def test_certainty_belongs_to_the_last_bin_and_no_confidence_to_none() -> None:
    assert calibration_lines("scans", [_page("prose", "a", "a", 1.0)])[-1].split()[:2] == ["0.9", "to"]
    assert "no page has a confidence" in calibration_lines("scans", [_page("prose", "a", "a")])[0]


def test_tables_show_the_figures() -> None:
    summary = summarise("scans", _READING, _SCORES)
    lines = set_lines([summary, summary])
    assert len({line.count("|") for line in lines}) == 1
    assert lines[-1].startswith(f"| {ALL} | 3 | 8.00 / 8.00 |")
    assert cost_lines([summary])[-1] == "| scans | ocrbatch | 4 | 2.00 | 4.00 |"
