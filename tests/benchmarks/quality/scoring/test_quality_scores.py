"""Rules, look-alikes and case count for nothing where they should not; words count in any order."""

import pytest

from tests.benchmarks.quality.readings.engines import Reading
from tests.benchmarks.quality.scoring.scores import Score, fold, score

_FIRST = "The quick brown fox jumps over the lazy dog while seven wizards quietly box five jugs of liquor. "
_SECOND = "Every paragraph of this report was typeset twice and then compared with care by three readers. "


def _score(text: str, truth: str) -> Score:
    return score("name", "prose", truth, Reading(text=text, status="ok", confidence=0.9))


def test_a_perfect_reading_has_no_faults_and_a_moved_one_all_words() -> None:
    result = _score(_FIRST + _SECOND, _FIRST + _SECOND)
    assert (result.characters.num_edits, result.bag.f1) == (0, 1.0)
    moved = _score(_SECOND + _FIRST, _FIRST + _SECOND)
    assert moved.bag.f1 == 1.0
    assert moved.characters.num_edits > 100


@pytest.mark.parametrize("rule", ["-" * 32, "- " * 20, "=====", ". . . . . ."])
def test_a_line_that_is_a_rule_is_no_text(rule: str) -> None:
    assert _score("Till 4\nTea 3.10", truth=f"Till 4\n{rule}\nTea 3.10").characters.num_edits == 0
    assert _score(f"Till 4\n{rule}\nTea 3.10", truth="Till 4\nTea 3.10").characters.num_edits == 0
    assert _score("Tea 3.10", truth="Tea -- 3.10").characters.num_edits == 3


def test_boxes_to_tick_are_no_text() -> None:
    read = Reading(text="Tea or coffee?\n□ Tea\n☒ Coffee", status="ok")
    assert score("a.png", "", "Tea or coffee?\nTea\nCoffee", read).characters.num_edits == 0


def test_words_count_as_often_as_both_have_them() -> None:
    result = _score("a a b x", truth="a b b c")
    assert (result.bag.shared, result.bag.in_truth, result.bag.in_text) == (2, 4, 4)
    assert result.bag.f1 == pytest.approx(0.5)


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
    assert _score(other, truth=one).folded.num_edits == 0
    assert one != other


def test_ends_of_sentences_do_not_fold() -> None:
    assert fold("so it ends. Then... goes on.") == "so it ends. Then... goes on."
