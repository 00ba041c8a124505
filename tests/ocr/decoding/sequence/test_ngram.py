from hypothesis import given
from hypothesis import strategies as st

from ocr.decoding.sequence.ngram import NgramBan


def rescan(tokens: list[int], size: int, window: int, allowed: frozenset[int]) -> set[int]:
    """The definition: every n-gram inside the window whose first n-1 tokens are the last ones written."""
    if size == 0 or len(tokens) < size:
        return set()
    prefix = tokens[len(tokens) - size + 1 :]
    starts = range(max(0, len(tokens) - window), len(tokens) - size + 1)
    ngrams = [tokens[start : start + size] for start in starts]
    return {ngram[-1] for ngram in ngrams if ngram[:-1] == prefix} - allowed


@given(
    tokens=st.lists(st.integers(0, 2), max_size=60),
    size=st.sampled_from([0, 2, 3, 5]),
    window=st.integers(1, 25),
    allowed=st.frozensets(st.integers(0, 2), max_size=1),
)
def test_bans_equal_a_rescan_after_every_token(
    tokens: list[int], size: int, window: int, allowed: frozenset[int]
) -> None:
    ban = NgramBan(size=size, window=window, allowed=allowed)
    for end, token in enumerate(tokens, start=1):
        ban.push(token)
        assert ban.banned() == rescan(tokens[:end], size, window, allowed)


@given(
    tokens=st.lists(st.integers(0, 3), max_size=80),
    size=st.sampled_from([0, 2, 3, 5]),
    window=st.integers(1, 25),
)
def test_nothing_is_banned_with_fewer_tokens_than_calm_until(
    tokens: list[int], size: int, window: int
) -> None:
    """Asked only when it says so, it bans what it bans when it is asked after every token."""
    ban = NgramBan(size=size, window=window)
    for end, token in enumerate(tokens, start=1):
        ban.push(token)
        if end < ban.calm_until:
            assert not rescan(tokens[:end], size, window, frozenset())
        else:
            assert ban.banned() == rescan(tokens[:end], size, window, frozenset())


def test_a_text_without_repetitions_is_looked_at_every_n_minus_first_token() -> None:
    ban = NgramBan(size=20, window=50)
    asked = []
    for token in range(400):
        ban.push(token)
        if len(ban.tokens) >= ban.calm_until:
            asked.append(len(ban.tokens))
            assert not ban.banned()
    assert asked == list(range(20, 401, 19))


def test_an_ngram_is_banned_inside_the_window_and_free_again_outside() -> None:
    ban = NgramBan(size=3, window=6)
    for token in (7, 8, 9, 7, 8):
        ban.push(token)
    assert ban.banned() == {9}
    for token in (1, 2, 7, 8):
        ban.push(token)
    assert ban.banned() == {1}
