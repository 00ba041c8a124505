"""Composed pages are cut in their reading order; tests.benchmarks.layout.reading_order prints the same as a table."""

import pytest

from ocr.layout.crops import Crop, CropPlan
from tests.articles.compose import KINDS
from tests.articles.measure import cut
from tests.articles.order import cut_order, inversions, kendall_tau
from tests.benchmarks.layout import reading_order

# The program does the same with 200 pages; these are the first 44 of them.
PAGES_OF_A_KIND = 2
DPI = 150


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_crops_of_a_page_come_in_reading_order(kind: str) -> None:
    first = list(KINDS).index(kind)
    cuts = [cut(first + len(KINDS) * number, DPI) for number in range(PAGES_OF_A_KIND)]
    assert {page.kind for page in cuts} == {kind}
    assert [page.number for page in cuts if page.order.num_lost] == [], "text that lies in no crop"
    assert all(page.order.num_crops > 1 for page in cuts), "pages of this kind are not cut"
    assert [page.number for page in cuts if page.order.num_inverted] == []
    assert [page.number for page in cuts if page.order.num_torn] == []


@pytest.mark.parametrize("number", [103, 125], ids=["short headings", "many short sections"])
def test_short_headings_across_part_the_columns(number: int) -> None:
    page = cut(number, DPI)
    assert page.kind == "sections across"
    assert page.order.num_crops > 1, "it is cut, though into many crops"
    assert (page.order.num_inverted, page.order.num_torn, page.order.num_lost) == (0, 0, 0)


def crop(x0: int, y0: int, x1: int, y1: int) -> Crop:
    box = (x0, y0, x1, y1)
    return Crop(box_px=box, frame_px=box, grid=(1, 1), paragraph_break=True)


def test_lines_of_a_wrong_order_torn_and_lost_ones_are_counted() -> None:
    lines = [(10.0, 10.0, 90.0, 20.0), (10.0, 30.0, 90.0, 40.0), (10.0, 50.0, 90.0, 60.0)]
    upper, lower = crop(0, 0, 100, 45), crop(0, 45, 100, 100)
    right = cut_order(lines, CropPlan(crops=(upper, lower)))
    assert (right.tau, right.num_inverted, right.num_torn, right.num_lost) == (1.0, 0, 0, 0)
    wrong = cut_order(lines, CropPlan(crops=(lower, upper)))
    assert (wrong.num_inverted, wrong.num_lost) == (2, 0)
    assert wrong.tau == pytest.approx(1 - 2 * 2 / 3)
    halves = cut_order(lines, CropPlan(crops=(crop(0, 0, 50, 100), crop(50, 0, 100, 100))))
    assert (halves.num_torn, halves.num_lost) == (3, 0)
    assert cut_order(lines, CropPlan(crops=(upper,))).num_lost == 1
    assert cut_order(lines, CropPlan()).tau == 1.0


def test_kendalls_tau_is_that_of_the_book() -> None:
    assert kendall_tau([1, 2, 3, 4]) == 1
    assert kendall_tau([4, 3, 2, 1]) == -1
    assert kendall_tau([1, 3, 2, 4]) == pytest.approx(1 - 2 / 6)
    assert inversions([2, 2, 1]) == 2
    assert kendall_tau([7]) == 1


@pytest.mark.slow
def test_the_program_prints_a_row_for_each_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert reading_order.main(["--pages", "2", "--dpi", "110"]) == 0
    head, plain, crossed, every = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["kind", "pages", "cut"]
    assert plain.startswith("plain")
    assert crossed.startswith("table across the middle")
    assert every.split()[:3] == ["all", "2", "2"]
