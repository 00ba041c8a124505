"""A page is left unchecked only where a check would change nothing."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocr.decoding.sequence.page_reading import DecodeSettings, NgramBan, PageReading, start_reading
from tests.ocr.tiny_reader import EOS, ChainReader, Reader, tokenizer

READER = Reader(model=ChainReader({}), tokenizer=tokenizer())
BUSY = DecodeSettings(
    max_tokens=700, ngram_size=4, ngram_window=16, loop_tokens=96, loop_period=64, loop_variety=0.2
)


def text(seed: int) -> list[int]:
    """New words, phrases over again, and one word for a while."""
    chance = random.Random(seed)
    written: list[int] = []
    while len(written) < 800:
        kind = chance.random()
        if kind < 0.6 or len(written) < 12:
            written += [chance.randrange(5, 60) for _ in range(chance.randrange(1, 40))]
        elif kind < 0.9:
            size = chance.randrange(3, 12)
            written += written[-size:] * chance.randrange(1, 30)
        else:
            written += [written[-1]] * chance.randrange(1, 20)
    return written


def read(tokens: list[int], limits: DecodeSettings, *, skips: bool) -> PageReading:
    """A page that writes these tokens, 3 for each that is banned; skips: what need not be looked at is only noted."""
    page, calm = start_reading(READER, 100, limits), 0
    for token in tokens:
        if skips and len(page.tokens) < calm:
            page.tokens.append(token)
            page.logprobs.append(-0.5)
            continue
        if not page.take(3 if token in page.ban.banned() else token, -0.5, EOS):
            break
        calm = page.calm_until()
    return page


@pytest.mark.parametrize("seed", range(30))
def test_pages_end_and_repeat_where_they_do_when_every_token_is_looked_at(
    seed: int,
) -> None:
    seen, skipping = (read(text(seed), BUSY, skips=skips) for skips in (False, True))
    assert skipping.tokens == seen.tokens
    assert (skipping.finish, skipping.loop_period) == (seen.finish, seen.loop_period)


def test_the_texts_reach_every_limit() -> None:
    pages = [read(text(seed), BUSY, skips=True) for seed in range(30)]
    assert {page.finish for page in pages} == {"loop", "length"}
    assert any(3 in page.tokens for page in pages)


def test_a_page_that_is_sampled_is_always_looked_at() -> None:
    limits = replace(BUSY, temperature=0.5)
    assert start_reading(READER, 100, limits).calm_until() == 0


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
