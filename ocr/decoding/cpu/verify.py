"""Verifies drafted tokens: position by position against what plain decoding would have chosen."""

from collections.abc import Sequence

import torch

from ocr.decoding.sequence.greedy import likeliest_without
from ocr.decoding.sequence.page_reading import PageReading


def verify(
    page: PageReading,
    drafted: Sequence[int],
    best: Sequence[int],
    logprobs: Sequence[float],
    logits_tV: torch.Tensor,
    eos_id: int,
) -> tuple[int, int | None]:
    """Appends the chosen tokens to the page for as long as they equal the drafted ones.

    Position 0 follows the page's last token, position i the i-th drafted one. best, logprobs: the likeliest token of
    each position (ocr.decoding.sequence.greedy.likeliest), taken from logits_tV [len(drafted) + 1, V]. Returns the
    number of positions used, and the token to go on from; None when the page is finished.
    """
    for position in range(len(drafted) + 1):
        token, logprob, written = _choose(
            page, best[position], logprobs[position], logits_tV[position], eos_id
        )
        if not page.take(token, logprob, eos_id, written):
            return position + 1, None
        if position == len(drafted) or token != drafted[position]:
            return position + 1, token
    raise AssertionError("the last position always returns")


def _choose(
    page: PageReading, best: int, logprob: float, logits_V: torch.Tensor, eos_id: int
) -> tuple[int, float, tuple[int, float] | None]:
    """Returns the allowed token, its log probability, and what is written in its place (PageReading.take)."""
    banned = page.ban.banned()
    token, chosen_logprob, noise_V = best, logprob, page.noise(len(logits_V))
    if token in banned or noise_V is not None:
        token, chosen_logprob = likeliest_without(logits_V, banned, noise_V)
    if token == eos_id and page.length.refuses_end(page.tokens):
        token, chosen_logprob = likeliest_without(logits_V, {*banned, eos_id}, noise_V)
    written = (best, logprob) if best in page.leaders & banned else None
    return token, chosen_logprob, written
