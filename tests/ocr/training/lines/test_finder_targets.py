"""The finder's targets: read back by the code that joins cells to lines, they are the lines they were made of."""

import numpy as np
import pytest

from ocr.line_reader.finder_cells import Cells, lines_of
from ocr.line_reader.found_lines import Floats, TextLine
from ocr.line_reader.networks import DROP_PX, SIZE_PX, STRIDE_PX
from ocr.training.lines.finder_targets import CELL_PX, IGNORED, targets

NONE = np.zeros((0, 5), np.float32)


def found(cells: Floats) -> list[TextLine]:
    """Returns the lines of targets, in pixels of the canvas, as LineReader.find has them."""
    text, drop, size = cells
    middles = (np.arange(text.shape[0], dtype=np.float32)[:, None] + 0.5) * STRIDE_PX
    seen = Cells(
        text=text.clip(0, 1),
        baseline=middles + DROP_PX * drop,
        size=SIZE_PX * np.exp(size),
        inked=text > 0,
        stride_px=STRIDE_PX,
    )
    return sorted(lines_of(seen, 0.5, 10_000), key=lambda line: line.middle)


def test_cells_follow_the_baseline() -> None:
    places = np.asarray(
        [(40, 700, 100, 0.0, 30), (60, 600, 200, 0.05, 24), (60, 500, 300, -0.03, 60)], np.float32
    )
    lines = found(targets(places, NONE, 512, 768))
    assert len(lines) == 3
    for line, (x0, x1, baseline, slope, size) in zip(lines, places.tolist(), strict=True):
        assert abs(line.left - x0) <= CELL_PX
        assert abs(line.right - x1) <= CELL_PX
        assert line.size == pytest.approx(size, rel=1e-3)
        x = np.arange(line.left, line.right) + 0.5
        inner = (x > x0 + 2 * CELL_PX) & (x < x1 - 2 * CELL_PX)
        assert np.abs(line.baseline - (baseline + slope * (x - x0)))[inner].max() < 0.1


def test_lines_close_to_each_other_stay_apart() -> None:
    places = np.asarray([(20, 400, y, 0.0, 20) for y in range(40, 240, 22)], np.float32)
    assert len(found(targets(places, NONE, 256, 512))) == len(places)


def test_small_type_has_a_cell_in_each_column() -> None:
    cells = targets(np.asarray([(16, 240, 50.3, 0.02, 9)], np.float32), NONE, 128, 256)
    assert (cells[0].sum(0)[2:31] == 1).all()


def test_what_an_edge_cuts_is_neither_text_nor_paper() -> None:
    places = np.asarray([(100, 200, 60, 0.0, 24)], np.float32)
    others = np.asarray([(-50, 80, 60, 0.0, 24), (90, 500, 4, 0.0, 24)], np.float32)
    cells = targets(places, others, 128, 256)
    assert set(np.unique(cells[0])) == {IGNORED, 0.0, 1.0}
    assert (cells[1:][:, cells[0] < 1] == 0).all()
    assert (cells[0, 6, :11] == IGNORED).all()
    assert (cells[0, 0, 11:] == IGNORED).all()


@pytest.mark.parametrize("gap", [0.6, 0.8, 1.0, 1.5])
@pytest.mark.parametrize("x", [300, 303, 306])
def test_columns_with_a_narrow_gutter_are_parted(gap: float, x: int) -> None:
    size = 24
    columns = [
        place
        for y in range(60, 400, 30)
        for place in ((40, x, y, 0.01, size), (x + gap * size, 640, y + 2.6, 0.01, size))
    ]
    lines = found(targets(np.asarray(columns, np.float32), NONE, 512, 768))
    assert len(lines) == len(columns)
    for line in lines:
        assert min(abs(line.right - x), abs(line.right - 640)) <= 1.5 * CELL_PX
        assert min(abs(line.left - 40), abs(line.left - x - gap * size)) <= 1.5 * CELL_PX


def test_a_gutter_frees_no_other_line_s_cells() -> None:
    places = np.asarray(
        [(40, 200, 60, 0.0, 24), (218, 400, 60, 0.0, 24), (40, 400, 100, 0.0, 24)], np.float32
    )
    cells = targets(places, NONE, 128, 512)
    whole = targets(places[2:], NONE, 128, 512)
    np.testing.assert_array_equal(cells[:, 10:], whole[:, 10:])
    assert (cells[1:][:, cells[0] == 0] == 0).all()
