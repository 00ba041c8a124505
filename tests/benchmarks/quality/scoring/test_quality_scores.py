"""Skips and loops are found where they are, and not where text has only moved."""

import pytest

from tests.benchmarks.quality.readings.engines import Reading
from tests.benchmarks.quality.scoring.scores import Score, fold, score

_FIRST = "The quick brown fox jumps over the lazy dog while seven wizards quietly box five jugs of liquor. "
_SECOND = "Every paragraph of this report was typeset twice and then compared with care by three readers. "
_THIRD = "Nothing but numbers follow: 3141 5926 5358 9793 2384 6264 3383 2795 0288 4197 1693 9937 5105. "
_TRUTH = _FIRST + _SECOND + _THIRD


def _score(text: str, truth: str = _TRUTH, status: str = "ok") -> Score:
    return score("name", "prose", truth, Reading(text=text, status=status, confidence=0.9))


def test_a_perfect_reading_has_no_faults() -> None:
    result = _score(_TRUTH)
    assert (result.characters.num_edits, result.words.num_edits, result.bag.f1) == (0, 0, 1.0)
    assert not result.broken


def test_a_missing_paragraph_is_one_skip() -> None:
    result = _score(_FIRST + _THIRD)
    assert (result.num_skips, result.num_loops) == (1, 0)


def test_a_missing_paragraph_among_misread_characters_is_a_skip() -> None:
    result = _score((_FIRST + _THIRD).replace("e", "c"))
    assert result.num_skips == 1


def test_misread_characters_alone_are_no_skip() -> None:
    assert not _score(_TRUTH.replace("e", "c").replace("o", "0").replace("i", "l")).broken


def test_a_repeated_paragraph_is_a_loop() -> None:
    result = _score(_FIRST + 4 * _SECOND + _THIRD)
    assert (result.num_skips, result.num_loops) == (0, 1)


def test_a_page_stopped_as_repeated_is_a_loop() -> None:
    assert _score(_TRUTH, status="repeated").num_loops == 1


def test_paragraphs_in_another_order_are_neither() -> None:
    result = _score(_THIRD + _FIRST + _SECOND)
    assert not result.broken
    assert result.bag.f1 == 1.0
    assert result.characters.num_edits > 100


def test_columns_read_across_are_neither() -> None:
    names = [f"{number} town{number * 7}" for number in range(60)]
    across = [name for pair in zip(names[:30], names[30:], strict=True) for name in pair]
    assert not _score(" ".join(across), truth=" ".join(names)).broken


def test_missing_leaders_are_no_skip() -> None:
    assert not _score("1 Usage 2", truth="1 Usage" + 60 * " ." + " 2").broken


@pytest.mark.parametrize("rule", ["-" * 32, "- " * 20, "=====", ". . . . . ."])
def test_a_line_that_is_a_rule_is_no_text(rule: str) -> None:
    assert _score("Till 4\nTea 3.10", truth=f"Till 4\n{rule}\nTea 3.10").characters.num_edits == 0
    assert _score(f"Till 4\n{rule}\nTea 3.10", truth="Till 4\nTea 3.10").characters.num_edits == 0
    assert _score("Tea 3.10", truth="Tea -- 3.10").characters.num_edits == 3


def test_words_count_as_often_as_both_have_them() -> None:
    result = _score("a a b x", truth="a b b c")
    assert (result.bag.shared, result.bag.in_truth, result.bag.in_text) == (2, 4, 4)
    assert result.bag.f1 == pytest.approx(0.5)


def test_invented_text_counts_on_pages_without_text_only() -> None:
    assert _score(" x y\n", truth="").num_invented == 2
    assert _score(" \n", truth="").num_invented == 0
    assert _score("wrong", truth="right").num_invented == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("“it’s”", '"it\'s"'),
        ("``quoted''", '"quoted"'),
        ("pages 3–5 — all", "pages 3-5 - all"),
        ("the ﬁrst oﬃce", "the first office"),
        ("1.1 Rings . . . . . . . . 2", "1.1 Rings ........ 2"),
    ],
)
def test_look_alikes_fold_into_one(one: str, other: str) -> None:
    folded = score("n", "prose", one, Reading(text=other, status="ok")).folded
    assert folded.num_edits == 0
    assert one != other


def test_ends_of_sentences_do_not_fold() -> None:
    assert fold("so it ends. Then... goes on.") == "so it ends. Then... goes on."
