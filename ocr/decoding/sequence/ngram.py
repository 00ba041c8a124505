"""No repeated n-gram inside a sliding window of the generated tokens."""

import sys
from collections.abc import Set

_NONE: frozenset[int] = frozenset()


class NgramBan:
    """Which tokens may not come next, at hardly any cost for a token of a text that does not repeat itself.

    An n-gram that lies wholly inside the last `window` generated tokens is not written again: where the
    last n-1 tokens equal its first n-1, its last token is banned. The prompt is never looked at and
    allowed tokens (a table's `<td>`, `</td>`) are never banned. size 0 switches it off.

    A token that did not stand in the window before it is part of no repetition, so that for the n-1 tokens from it on
    nothing is banned: with fewer tokens than calm_until there is nothing to look at.

    Source: deepseek-ai/DeepSeek-OCR, process/ngram_norepeat.py, the same bans.
    """

    def __init__(self, *, size: int, window: int, allowed: frozenset[int] = frozenset()) -> None:
        assert size == 0 or size >= 2, "an n-gram has at least two tokens; 0 switches the ban off"
        self._size = size
        # The most places that an n-gram and its repetition may be apart.
        self._reach = window - size + 1
        self._allowed = allowed
        self._checked = 0
        self.tokens: list[int] = []
        self.calm_until = size if size and self._reach > 0 else sys.maxsize

    def push(self, token: int) -> None:
        """Record a generated token."""
        self.tokens.append(token)

    def banned(self) -> Set[int]:
        """The token ids that may not come next."""
        if len(self.tokens) < self.calm_until or self.is_calm():
            return _NONE
        return self._followers() - self._allowed

    def is_calm(self) -> bool:
        """Looks for the last token that is new in its window, which sets calm_until; whether nothing is banned."""
        tokens, reach = self.tokens, self._reach
        count = len(tokens)
        if reach <= 0 or not self._size:
            return True
        for place in range(count - 1, self._checked - 1, -1):
            if tokens[place] not in tokens[max(0, place - reach) : place]:
                self.calm_until = place + self._size
                break
        self._checked = count
        return count < self.calm_until

    def _followers(self) -> set[int]:
        """What followed the last n-1 tokens where they stood in the window before."""
        tokens, length = self.tokens, self._size - 1
        start = len(tokens) - length
        prefix, first, last = tokens[start:], tokens[start], tokens[-1]
        return {
            tokens[place + length]
            for place in range(max(0, start - self._reach), start)
            if tokens[place] == first
            and tokens[place + length - 1] == last
            and tokens[place : place + length] == prefix
        }
