"""Finds the repetition loops that greedy decoding falls into, and cuts their output.

The n-gram ban already breaks exact loops shorter than its window, which leaves long sentences or paragraphs
over and over, and empty table cells (whose tags the ban lets through). A tail counts as a
loop when one period repeats exactly over at least `min_tokens` tokens and at least `min_repeats` times.
Honest pages repeat too, as blank forms, dotted leaders and signature sheets do; the defaults (768
tokens, 4 times) let a blank table of 250 cells or 767 equal tokens in a row pass.

Loops also vary: invented rows of a table, an "e e e c c e" without end. So a tail counts as well when fewer
than `min_variety` of the 4-grams in its last 1,024 tokens are distinct. Honest pages stay far above the
default of 0.05: over 177 real pages the minimum was 0.12 (a table of contents with dotted leaders), while
invented rows had 0.02. A counter that goes up is not found: it ends at the token limit.
"""

from collections.abc import Sequence

import numpy as np

CHECK_EVERY = 32
_VARIETY_TOKENS = 1024
_VARIETY_GRAM = 4
_SAMPLE = 192
# This many equal tokens in a row tell a loop from a word that merely recurs.
_FEW = 8


class LoopDetector:
    """Checks one page's tokens for loops; min_tokens 0 switches both checks off, min_variety 0 the second one."""

    def __init__(
        self, *, min_tokens: int, min_repeats: int, max_period: int, min_variety: float = 0.0
    ) -> None:
        self._min_tokens = min_tokens
        self._min_repeats = min_repeats
        self._max_period = max_period
        self._min_variety = min_variety

    def period(self, tokens: Sequence[int]) -> int | None:
        """Returns the period of the loop that tokens end in, or None; checks only every 32nd length."""
        if self._min_tokens == 0 or len(tokens) < self._min_tokens or len(tokens) % CHECK_EVERY:
            return None
        return find_period(
            tokens,
            min_tokens=self._min_tokens,
            min_repeats=self._min_repeats,
            max_period=self._max_period,
        )

    def is_monotonous(self, tokens: Sequence[int]) -> bool:
        """Returns whether the last 1,024 tokens hardly vary; checks only every 32nd length."""
        if self._min_tokens == 0 or len(tokens) < _VARIETY_TOKENS or len(tokens) % CHECK_EVERY:
            return False
        tail = tokens[-_VARIETY_TOKENS:]
        num_grams = _VARIETY_TOKENS - _VARIETY_GRAM + 1
        # Distinct tokens begin distinct 4-grams, so their number is a lower bound that takes a tenth of the time to
        # count. On most pages the first few already suffice.
        for some in (tail[:_SAMPLE], tail[:num_grams]):
            if len(set(some)) >= self._min_variety * num_grams:
                return False
        return variety(tail) < self._min_variety


def variety(tokens: Sequence[int]) -> float:
    """Returns the share of distinct 4-grams among all; needs at least four tokens."""
    grams = list(zip(*(tokens[start:] for start in range(_VARIETY_GRAM)), strict=False))
    return len(set(grams)) / len(grams)


def find_period(tokens: Sequence[int], *, min_tokens: int, min_repeats: int, max_period: int) -> int | None:
    """Returns the shortest period that repeats over the last max(min_tokens, min_repeats * period) tokens, or None."""
    if not _may_repeat(tokens, max_period):
        return None
    tail = np.asarray(tokens[-max(min_tokens, min_repeats * max_period) :], dtype=np.int64)
    last = len(tail) - 1
    lags = last - np.flatnonzero(tail[:last] == tail[last])[::-1]
    for period in lags[lags <= max_period].tolist():
        span = max(min_tokens, min_repeats * period)
        if span > len(tail):
            return None
        part = tail[-span:]
        if np.array_equal(part[period:], part[:-period]):
            return int(period)
    return None


def _may_repeat(tokens: Sequence[int], max_period: int) -> bool:
    """Returns whether the last few tokens also occur within the max_period positions before them, as in any loop."""
    few, length = min(_FEW, len(tokens)), len(tokens)
    tail, first = tokens[length - few :], max(0, length - 1 - max_period)
    before, at = tokens[first : length - 1], -1
    while True:
        try:
            at = before.index(tail[-1], at + 1)
        except ValueError:
            return False
        end = first + at + 1
        # A match that overlaps the tail, or reaches beyond the beginning, is left to the full check.
        if end < few or length - end < few or tokens[end - few : end] == tail:
            return True


def trim_tail(tokens: Sequence[int], period: int) -> Sequence[int]:
    """Returns tokens with the repetition that they end in cut to its first occurrence."""
    start = len(tokens) - period
    while start > 0 and tokens[start - 1] == tokens[start - 1 + period]:
        start -= 1
    return tokens[: start + period]
