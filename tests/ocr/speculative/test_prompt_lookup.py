from hypothesis import given
from hypothesis import strategies as st

from ocr.speculative.prompt_lookup import RepeatDraft
from tests.ocr.speculative.replay import tokens_a_step


def test_what_followed_last_time_is_proposed():
    assert RepeatDraft().propose([1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4], 2) == [5, 6]
    assert RepeatDraft().propose([1, 2, 3, 4, 5, 6, 7, 9, 3, 4], 16) == [5, 6, 7, 9]
    assert RepeatDraft().propose([1, 2, 3, 4], 16) == []


def test_the_same_step_by_step():
    draft = RepeatDraft()
    for count in range(10):
        draft.propose(list(range(count)), 16)
    assert draft.propose([*range(10), 4, 5, 6, 7], 16) == [8, 9, 4, 5, 6, 7]


def test_rows_that_repeat_are_guessed():
    assert tokens_a_step(RepeatDraft(), "Name: ______ Date: ______\n" * 12) > 4


@given(st.lists(st.integers(0, 3), max_size=60), st.integers(1, 16))
def test_never_more_than_asked_for(tokens, limit):
    draft = RepeatDraft()
    for count in range(len(tokens) + 1):
        assert len(draft.propose(tokens[:count], limit)) <= limit
