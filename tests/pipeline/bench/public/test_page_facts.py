"""Facts as olmOCR-bench states them, each with a page that bears it out and one that does not."""

from typing import Any

import pytest

from pipeline.bench.public.comparable_text import comparable, near_starts
from pipeline.bench.public.page_facts import FactError, fact

TABLE = "| Name | 2024 | 2025 |\n|---|---|---|\n| Oslo | 12 | 13 |\n| Bergen | 20 | 21 |\n"
SPANNING = "<table><tr><th>Name</th><th colspan=2>Years</th></tr><tr><td>Oslo</td><td>12</td><td>13</td></tr></table>"


def holds(markdown: str, **values: Any) -> bool:
    return fact({"pdf": "a.pdf", "page": 1, "id": "1", **values}, "a.jsonl").holds(markdown)


@pytest.mark.parametrize(
    ("markdown", "values", "expected"),
    [
        ("The **quick** brown\nfox", {"type": "present", "text": "quick brown fox"}, True),
        ("The quack brown fox", {"type": "present", "text": "quick brown fox"}, False),
        ("The quack brown fox", {"type": "present", "text": "quick brown fox", "max_diffs": 2}, True),
        ("The QUICK fox", {"type": "present", "text": "quick"}, False),
        ("The QUICK fox", {"type": "present", "text": "quick", "case_sensitive": False}, True),
        ("“It’s” — so", {"type": "present", "text": "\"It's\" - so"}, True),
        ("head " + "x" * 50 + " foot", {"type": "present", "text": "foot", "first_n": 20}, False),
        ("head " + "x" * 50 + " foot", {"type": "present", "text": "foot", "last_n": 20}, True),
        (" ", {"type": "present", "text": "a b"}, False),
        (" ", {"type": "absent", "text": "a b"}, True),
        ("Page 12", {"type": "absent", "text": "Page 12"}, False),
        ("one two three", {"type": "order", "before": "one", "after": "three"}, True),
        ("three two one", {"type": "order", "before": "one", "after": "three"}, False),
        ("three two one thrae", {"type": "order", "before": "one", "after": "three", "max_diffs": 1}, True),
        ("one two", {"type": "order", "before": "one", "after": "three"}, False),
        ("text", {"type": "baseline"}, True),
        (" - \n", {"type": "baseline"}, False),
        ("a" + "ha " * 40, {"type": "baseline"}, False),
        ("文字", {"type": "baseline"}, False),
        ("ab", {"type": "baseline", "max_length": 1}, False),
        ("![a picture](a.png)", {"type": "baseline", "max_length": 0, "max_length_skips_image_alt_tags": True}, True),
        ("# A **big** one\n", {"type": "format", "format": "heading", "text": "A big one"}, True),
        ("A big one", {"type": "format", "format": "heading", "text": "A big one"}, False),
        ("an *old* one", {"type": "format", "format": "italic", "text": "old"}, True),
        ("an **old** one", {"type": "format", "format": "italic", "text": "old"}, False),
        ("as said.[^2] Next", {"type": "footnote", "marker": "2", "appears_before_marker": "as said"}, True),
        ("as said¹² next", {"type": "footnote", "marker": "12", "appears_after_marker": "next"}, True),
        ("as said 2 next", {"type": "footnote", "marker": "2"}, False),
        (TABLE, {"type": "table", "cell": "12", "left": "Oslo", "top_heading": "2024"}, True),
        (TABLE, {"type": "table", "cell": "12", "down": "20", "right": "13"}, True),
        (TABLE, {"type": "table", "cell": "12", "up": "2025"}, False),
        (TABLE, {"type": "table", "cell": "12", "ignore_markdown_tables": True}, False),
        (SPANNING, {"type": "table", "cell": "13", "up": "Years", "left_heading": "Oslo"}, True),
        ("12 Oslo", {"type": "table", "cell": "12"}, False),
    ],
)  # fmt: skip
def test_a_page_bears_a_fact_out_or_not(markdown: str, values: dict[str, Any], expected: bool) -> None:
    assert holds(markdown, **values) is expected


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "not a JSON object"),
        ({"pdf": "a.pdf", "id": "1", "type": "present", "page": "1"}, "'page'"),
        ({"pdf": "a.pdf", "id": "1", "page": 1, "type": "smell"}, "'smell' is not known"),
        ({"pdf": "a.pdf", "id": "1", "page": 1, "type": "present"}, "'text' is missing"),
        (
            {"pdf": "a.pdf", "id": "1", "page": 1, "type": "present", "text": "a", "max_diffs": -1},
            "max_diffs",
        ),
        ({"pdf": "a.pdf", "id": "1", "page": 1, "type": "format", "text": "a", "format": "loud"}, "'loud'"),
    ],
)
def test_what_states_no_fact_is_named(values: Any, message: str) -> None:
    with pytest.raises(FactError, match=message):
        fact(values, "a.jsonl")


def test_places_that_are_nearly_the_same_are_found_from_their_beginnings() -> None:
    assert near_starts("abc", "xxabcxxabc", 0) == [2, 7]
    assert near_starts("abcdef", "xx abXdef yy", 1) == [3]
    assert near_starts("abc", "", 1) == []
    assert comparable("a<br/>**e\u0301** \n ‑ \u00b5") == "a \u00e9 - \u03bc"
