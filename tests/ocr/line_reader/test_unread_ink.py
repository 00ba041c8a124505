"""Ink outside the lines that were read is told from ink within, from pictures and from paper."""

import numpy as np
import pytest

from ocr.line_reader.found_lines import TextLine
from ocr.line_reader.unread_ink import unread_ink

SIDE = 1000


def bars(rows: range, grey: int = 20, paper: int = 240) -> np.ndarray:
    """Rows of strokes, [1000, 1000] uint8."""
    page = np.full((SIDE, SIDE), paper, np.uint8)
    for top in rows:
        page[top : top + 12, 100:900:7] = grey
        page[top : top + 12, 101:900:7] = grey
    return page


def line(baseline: float, scale: float = 1.0) -> TextLine:
    left, right = round(90 * scale), round(910 * scale)
    return TextLine(
        left=left,
        right=right,
        baseline=np.full(right - left, baseline * scale, np.float32),
        size=16.0 * scale,
    )


ROWS = range(100, 900, 40)


@pytest.mark.parametrize("scale", [1, 2])
def test_what_is_within_lines_is_read(scale: int) -> None:
    page = bars(ROWS).repeat(scale, 0).repeat(scale, 1)
    boxes = [line(top + 12, scale).box for top in ROWS]
    assert unread_ink(page, []) == 1.0
    assert unread_ink(page, boxes) < 0.02
    assert unread_ink(page, boxes[:10]) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    "page", [np.full((SIDE, SIDE), 240, np.uint8), bars(range(100, 140, 40)), bars(ROWS, 250, 40)]
)
def test_paper_a_mark_or_two_and_dark_pages_have_none(page: np.ndarray) -> None:
    assert unread_ink(page, []) == 0.0


def test_beside_a_picture_there_is_none() -> None:
    page = bars(ROWS)
    page[150:600, 200:700] = np.random.default_rng(0).integers(0, 90, (450, 500))
    assert unread_ink(page, []) == 0.0
