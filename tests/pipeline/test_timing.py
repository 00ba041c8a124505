import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.timing import Stopwatch, least_favourable, split


@given(st.floats(0, 1e4), st.lists(st.integers(0, 900), min_size=1, max_size=64))
def test_shares_add_up_to_the_wall_time(wall_s: float, work: list[int]) -> None:
    timings = split("encode_local", wall_s, work)
    assert len(timings) == len(work)
    if sum(work):
        assert sum(timing.share_s for timing in timings) == pytest.approx(wall_s)
    for timing, amount in zip(timings, work, strict=True):
        assert (timing.wall_s, timing.batch_size) == (
            (wall_s, len(work) - work.count(0)) if amount else (0.0, 0)
        )


def test_pages_without_work_have_no_use_of_a_path() -> None:
    timings = split("encode_local", 1.0, [0, 2, 1], [None, "hit", "eager"])
    assert [timing.path_use for timing in timings] == [None, "hit", "eager"]
    assert [timing.path_use for timing in split("tile", 1.0, [1, 1])] == [None, None]


@pytest.mark.parametrize(
    ("uses", "expected"),
    [
        ([], None),
        ([None], None),
        (["hit", "hit"], "hit"),
        (["hit", None, "miss"], "miss"),
        (["miss", "eager", "hit"], "eager"),
    ],
)
def test_the_least_favourable_use_counts(uses: list[str | None], expected: str | None) -> None:
    assert least_favourable(uses) == expected


def test_shares_follow_the_work() -> None:
    few, many = split("decode_generate", 10.0, [100, 300])
    assert (few.share_s, many.share_s) == (2.5, 7.5)
    assert few.wall_s == many.wall_s == 10.0


def test_a_stopwatch_measures_its_block() -> None:
    watch = Stopwatch()
    began = time.perf_counter()
    with watch.measure():
        time.sleep(0.02)
    assert 0.02 <= watch.seconds <= time.perf_counter() - began
