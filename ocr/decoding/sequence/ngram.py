"""Bans repeated n-grams inside a sliding window of the generated tokens."""

import sys
from collections.abc import Set

_NONE: frozenset[int] = frozenset()


class NgramBan:
    """Finds the tokens that may not come next, at hardly any cost in text that does not repeat itself.

    An n-gram that lies wholly inside the last `window` generated tokens is not written again: where the
    last n-1 tokens equal its first n-1, its last token is banned. The prompt is never searched and
    allowed tokens (a table's `<td>`, `</td>`) are never banned. size 0 switches the ban off.

    A token that does not occur in the window before it is part of no repetition, so nothing is banned for the n-1
    tokens from it on: with fewer tokens than calm_until there is nothing to search.

    Source: deepseek-ai/DeepSeek-OCR, process/ngram_norepeat.py, the same bans.
    """

    def __init__(self, *, size: int, window: int, allowed: frozenset[int] = frozenset()) -> None:
        assert size == 0 or size >= 2, "an n-gram has at least two tokens; 0 switches the ban off"
        self._size = size
        # The greatest distance between an n-gram and its repetition, in tokens.
        self._reach = window - size + 1
        self._allowed = allowed
        self._checked = 0
        self.tokens: list[int] = []
        self.calm_until = size if size and self._reach > 0 else sys.maxsize

    def push(self, token: int) -> None:
        """Records a generated token."""
        self.tokens.append(token)

    def banned(self) -> Set[int]:
        """Returns the token ids that may not come next."""
        if len(self.tokens) < self.calm_until or self.is_calm():
            return _NONE
        return self._followers() - self._allowed

    def is_calm(self) -> bool:
        """Finds the last token that is new in its window, updates calm_until, and returns whether nothing is banned."""
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
        """Returns the tokens that followed earlier occurrences of the last n-1 tokens in the window."""
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
