import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.page_selection import parse_pages, select_pages


def test_ranges() -> None:
    assert parse_pages("1-3, 7")[0] == (1, 3)
    assert parse_pages("1-3, 7")[1] == (7, 7)


@pytest.mark.parametrize("text", ["", "0", "3-1", "a", "1,", "-3", "1--2", "1.5", "١", "9" * 30])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="1-3,7"):
        parse_pages(text)


def test_pages_are_chosen_in_order_and_once() -> None:
    assert select_pages(10, "7,1-3,2", None) == ([0, 1, 2, 6], 0)


def test_an_open_end_runs_to_the_last_page() -> None:
    assert select_pages(5, "4-", None) == ([3, 4], 0)


def test_the_limit_counts_what_it_leaves_out() -> None:
    assert select_pages(10, None, 3) == ([0, 1, 2], 7)
    assert select_pages(10, "5-8", 3) == ([4, 5, 6], 1)
    assert select_pages(2, None, 3) == ([0, 1], 0)


@given(st.integers(0, 60), st.sets(st.integers(1, 60), min_size=1), st.none() | st.integers(1, 60))
def test_chosen_and_left_out_are_the_wanted_pages(
    num_pages: int, wanted: set[int], limit: int | None
) -> None:
    chosen, left_out = select_pages(num_pages, ",".join(map(str, wanted)), limit)
    existing = [page - 1 for page in sorted(wanted) if page <= num_pages]
    assert chosen == existing[:limit]
    assert len(chosen) + left_out == len(existing)
