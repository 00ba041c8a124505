import random

import pytest
from rapidfuzz.distance import Levenshtein

from ocr.training.calibrate.alignment import block_accuracies, page_accuracy


def test_a_page_is_compared_as_a_whole() -> None:
    assert page_accuracy("one  two\nthree", "one two three") == 1
    assert page_accuracy("one two", "one two three") == pytest.approx(7 / 13)
    assert page_accuracy("", "") == 1
    assert page_accuracy("invented", "") == 0
    assert page_accuracy("x" * 99, "ab") == 0


TRUTH = "The first paragraph of all\n\nthe second paragraph of it\n\nthird"


def test_blocks_are_compared_where_they_stand() -> None:
    assert (
        block_accuracies(["The first paragraph of all", "the second paragraph of it", "third"], TRUTH)
        == [1] * 3
    )
    assert block_accuracies(["The first paragraph of all", "thirt"], TRUTH) == [1, 0.8]
    assert block_accuracies(["f", "i", "t"], "q") == [0, 0, 0]
    assert block_accuracies(["text", ""], "") == [0, 1]
    assert block_accuracies([], TRUTH) == []


def test_a_skipped_paragraph_is_no_blocks_fault_but_a_skipped_word_is() -> None:
    assert block_accuracies(["The first paragraph of all", "third"], TRUTH) == [1, 1]
    assert block_accuracies(["The first of all"], TRUTH) == [pytest.approx(11 / 16)]


def test_long_blocks_may_stand_in_another_order() -> None:
    assert block_accuracies(["the second paragraph\nof it", "The first paragraph of all"], TRUTH) == [1, 1]


def test_the_nearest_part_is_the_nearest() -> None:
    rng = random.Random(0)
    for _ in range(30):
        text = "".join(rng.choices("ab", k=rng.randint(20, 24)))
        truth = "".join(rng.choices("abc", k=rng.randint(0, 30)))
        parts = {truth[i:j] for i in range(len(truth) + 1) for j in range(i, len(truth) + 1)}
        nearest = min(Levenshtein.distance(text, part) for part in parts)
        assert block_accuracies([text], truth) == [pytest.approx(max(0, 1 - nearest / len(text)))]
