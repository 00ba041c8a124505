"""Lines of scans that lie askew and of photographs from aside stand as on a level page."""

import numpy as np
import pytest

from ocr.line_reader.found_lines import TextLine
from ocr.line_reader.levelling import View

ROWS = range(200, 2000, 60)


def levelled(lines: list[TextLine]) -> list[TextLine]:
    return [*map(View.of(lines).levelled, lines)]


def seen(left: int, right: int, y: float, slope: float, change: float, lean: float) -> TextLine:
    """Returns a line that goes from left to right at a height of the level page, as its picture shows it."""
    aside = round(lean * y)
    x = np.arange(left, right, dtype=np.float32) - aside
    baseline = y + (slope + change * (y - 1000)) * (x - 800)
    return TextLine(left=left - aside, right=right - aside, baseline=baseline.astype(np.float32), size=24.0)


@pytest.mark.parametrize(
    ("slope", "change", "lean"),
    [(0.0, 0.0, 0.0), (0.03, 0.0, 0.03), (-0.02, 0.0, -0.02), (0.0, 4e-5, 0.01), (0.05, -3e-5, 0.0)],
)
def test_rows_are_level_and_left_edges_upright(slope: float, change: float, lean: float) -> None:
    words = [(200, 500), (560, 800), (830, 1400)]
    lines = [seen(*word, y, slope, change, lean) for y in ROWS for word in words]
    level = levelled(lines)
    assert max(float(np.ptp(line.baseline)) for line in level) < 1.5
    rows = np.array([line.middle for line in level]).reshape(-1, 3)
    assert np.ptp(rows, axis=1).max() < 2
    assert np.ptp([line.left for line in level[::3]]) < 16
    assert np.ptp([line.left for line in lines[::3]]) > 16 or lean == 0


def test_ends_of_baselines_that_were_found_too_level_do_not_tell() -> None:
    flat = 40
    lines = []
    for y in ROWS:
        line = seen(200, 520, y, 0.05, 0.0, 0.05)
        ends = [line.baseline[flat]] * flat, [line.baseline[-1 - flat]] * flat
        baseline = np.concatenate([ends[0], line.baseline[flat:-flat], ends[1]]).astype(np.float32)
        lines.append(TextLine(left=line.left, right=line.right, baseline=baseline, size=24.0))
    for line in levelled(lines):
        assert np.ptp(line.baseline[flat:-flat]) < 1


def test_short_lines_tell_nothing() -> None:
    lines = [seen(200, 300, y, 0.05, 0.0, 0.05) for y in ROWS]
    assert [(line.left, line.middle) for line in levelled(lines)] == [
        (line.left, line.middle) for line in lines
    ]
