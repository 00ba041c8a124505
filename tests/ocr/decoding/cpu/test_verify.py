import pytest
import torch

from ocr.decoding.cpu.verify import verify
from ocr.decoding.sequence.greedy import likeliest
from ocr.decoding.sequence.page_reading import DecodeSettings, PageReading, start_reading
from tests.ocr.tiny_reader import EOS, VOCAB, ChainReader, Reader, tokenizer


def page(max_tokens: int = 50, ngram_size: int = 0) -> PageReading:
    reader = Reader(model=ChainReader({}), tokenizer=tokenizer())
    limits = DecodeSettings(max_tokens=max_tokens, ngram_size=ngram_size, ngram_window=20)
    return start_reading(reader, 0, limits)


def logits_of(*choices: tuple[int, ...]) -> torch.Tensor:
    """[t, V]: each position's choices, the best first."""
    logits = torch.zeros(len(choices), VOCAB)
    for position, tokens in enumerate(choices):
        for rank, token in enumerate(tokens):
            logits[position, token] = 9.0 - rank
    return logits


def check(
    reading: PageReading, drafted: list[int], *choices: tuple[int, ...]
) -> tuple[int, int | None, list[int]]:
    logits = logits_of(*choices)
    used, token = verify(reading, drafted, *likeliest(logits), logits, EOS)
    return used, token, reading.tokens


def test_without_a_draft_one_token_is_chosen() -> None:
    assert check(page(), [], (7,)) == (1, 7, [7])


def test_drafted_tokens_stand_up_to_the_first_that_is_not_chosen() -> None:
    assert check(page(), [7, 8, 9], (7,), (8,), (20,), (10,)) == (3, 20, [7, 8, 20])
    assert check(page(), [7, 8], (7,), (8,), (9,)) == (3, 9, [7, 8, 9])
    assert check(page(), [6, 8], (7,), (8,), (9,)) == (1, 7, [7])


def test_an_end_and_a_limit_stop_amid_the_drafted_tokens() -> None:
    assert check(page(), [7, EOS, 9], (7,), (EOS,), (9,), (9,)) == (2, None, [7])
    assert check(page(max_tokens=2), [7, 8, 9], (7,), (8,), (9,), (10,)) == (2, None, [7, 8])


def test_the_ban_counts_tokens_accepted_in_the_same_step() -> None:
    """Bigrams: after 5 6 5 no 6 again, so the second choice, although the drafted 6 is likeliest."""
    reading = page(ngram_size=2)
    assert check(reading, [5, 6, 5, 6], (5,), (6,), (5,), (6, 30), (7,)) == (4, 30, [5, 6, 5, 30])
    assert reading.logprobs[3] == pytest.approx(logits_of((6, 30)).log_softmax(-1)[0, 30].item())
