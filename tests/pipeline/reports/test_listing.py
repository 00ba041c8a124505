"""Lists for people: short, in one form, and saying what they leave out."""

from pipeline.ingest.selection import InputCounts
from pipeline.reports.listing import counted, cut, in_words, page_counts, passed_over


def test_counts_keep_their_order() -> None:
    assert counted({"ok": 3, "failed": 1}) == "3 ok, 1 failed"
    assert counted({}) == ""


def test_kinds_without_pages_have_no_line() -> None:
    assert page_counts({"read": 2, "lost": 0}) == ["pages read: 2"]
    counts = InputCounts(num_done_before=3, num_doubtful_before=1, num_left_out=2)
    assert passed_over(counts) == ["pages read before: 3", "pages left out: 2"]
    assert passed_over(counts, num_doubtful=1)[1] == "pages in doubt since an earlier run: 1"


def test_a_list_says_how_many_it_leaves_out() -> None:
    assert cut(range(20)) == (range(20), "")
    assert cut(range(25)) == (range(20), "and 5 more")


def test_durations() -> None:
    assert [in_words(seconds) for seconds in (40, 720, 11100)] == ["40 s", "12 min", "3 h 05 min"]
