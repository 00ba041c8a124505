"""Cells joined to lines: two columns stay apart, slanted and weak lines stay whole, specks are none."""

import numpy as np

from ocr.line_reader.finder_cells import Cells, lines_of

STRIDE = 4


def cells_of(
    lines: list[tuple[float, float, float, float, float]], shape: tuple[int, int] = (60, 100)
) -> Cells:
    """Returns cells that show lines (x0, x1, baseline at x0, slope, type size), as a perfect finder would."""
    text = np.zeros(shape, np.float32)
    baseline = np.zeros(shape, np.float32)
    size = np.ones(shape, np.float32)
    middles = (np.arange(shape[0]) + 0.5) * STRIDE
    for x0, x1, at, slope, em in lines:
        for column in range(int(x0 // STRIDE), int(x1 // STRIDE)):
            y = at + slope * ((column + 0.5) * STRIDE - x0)
            rows = np.abs(middles - (y - 0.25 * em)) <= max(0.24 * em, STRIDE / 2)
            text[rows, column], baseline[rows, column], size[rows, column] = 0.9, y, em
    return Cells(text=text, baseline=baseline, size=size, inked=text > 0, stride_px=STRIDE)


def test_lines_have_their_ends_baseline_and_size() -> None:
    (line,) = lines_of(cells_of([(40, 200, 100, 0, 16)]), 0.5, 800)
    assert (line.left, line.right) == (80, 400)
    assert abs(line.middle - 200) < 0.5
    assert abs(line.size - 32) < 0.1
    assert line.baseline.shape == (320,)


def test_columns_stay_apart_and_lines_below_each_other_too() -> None:
    places = [(x, x + 120, y, 0.0, 12.0) for x in (20, 220) for y in (40, 54, 68, 82)]
    found = lines_of(cells_of(places), 1.0, 400)
    assert len(found) == 8
    assert {round(line.middle) for line in found} == {40, 54, 68, 82}
    assert {line.left for line in found} == {20, 220}


def test_a_slanted_line_is_one_whose_baseline_falls() -> None:
    (line,) = lines_of(cells_of([(20, 380, 60, 0.1, 14)]), 1.0, 400)
    assert abs(float(line.baseline[-1] - line.baseline[0]) - 0.1 * 360) < 2


def test_a_missing_cell_breaks_no_line_but_specks_are_none() -> None:
    cells = cells_of([(20, 180, 60, 0, 14), (300, 304, 60, 0, 30)])
    cells.text[:, 20] = 0
    (line,) = lines_of(cells, 1.0, 400)
    assert (line.left, line.right) == (20, 180)


def test_a_page_without_text_has_no_lines() -> None:
    assert lines_of(cells_of([]), 1.0, 400) == []


def test_a_hole_in_a_line_does_not_split_it_in_height() -> None:
    cells = cells_of([(20, 180, 100, 0, 40)])
    cells.text[23, 12:20] = 0
    (line,) = lines_of(cells, 1.0, 400)
    assert (line.left, line.right, line.is_sure) == (20, 180, True)
    assert abs(line.middle - 100) < 0.5


def test_weak_cells_with_ink_go_on_a_line_and_those_without_do_not() -> None:
    cells = cells_of([(20, 180, 100, 0, 20)])
    cells.text[:, 15:25] *= 0.2
    assert [(line.left, line.right) for line in lines_of(cells, 1.0, 400)] == [(20, 180)]
    cells.inked[:, 15:25] = False
    assert [(line.left, line.right) for line in lines_of(cells, 1.0, 400)] == [(20, 60), (100, 180)]


def test_a_weak_cell_amid_white_joins_no_columns() -> None:
    cells = cells_of([(20, 100, 100, 0, 20), (112, 180, 100, 0, 20), (104, 108, 100, 0, 20)])
    cells.text[:, 26] *= 0.2
    assert len([line for line in lines_of(cells, 1.0, 400) if line.is_sure]) == 2


def test_a_line_of_weak_cells_alone_is_none_for_sure() -> None:
    cells = cells_of([(20, 180, 100, 0, 20)])
    cells.text[:] *= 0.2
    (line,) = lines_of(cells, 1.0, 400)
    assert not line.is_sure
