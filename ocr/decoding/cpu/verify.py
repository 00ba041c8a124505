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
        token, logprob = _choose(page, best[position], logprobs[position], logits_tV[position])
        if not page.take(token, logprob, eos_id):
            return position + 1, None
        if position == len(drafted) or token != drafted[position]:
            return position + 1, token
    raise AssertionError("the last position always returns")


def _choose(page: PageReading, best: int, logprob: float, logits_V: torch.Tensor) -> tuple[int, float]:
    """Returns the allowed token and its log probability."""
    banned, noise_V = page.ban.banned(), page.noise(len(logits_V))
    if best in banned or noise_V is not None:
        return likeliest_without(logits_V, banned, noise_V)
    return best, logprob
