"""A page is left unchecked only where a check would change nothing."""

import random
from dataclasses import replace

import pytest

from ocr.decoding.sequence.page_reading import DecodeSettings, PageReading, start_reading
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
