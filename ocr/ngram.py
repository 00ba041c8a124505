"""No repeated n-gram inside a sliding window of the generated tokens."""

from collections import deque
from collections.abc import Set

_NONE: frozenset[int] = frozenset()


class NgramBan:
    """Which tokens may not come next, kept up to date in O(n) a token instead of a rescan of the window.

    An n-gram that lies wholly inside the last `window` generated tokens is not written again: where the
    last n-1 tokens equal its first n-1, its last token is banned. The prompt is never looked at and
    allowed tokens (a table's `<td>`, `</td>`) are never banned. size 0 switches it off.

    Source: deepseek-ai/DeepSeek-OCR, process/ngram_norepeat.py, the same bans.
    """

    def __init__(self, *, size: int, window: int, allowed: frozenset[int] = frozenset()) -> None:
        assert size == 0 or size >= 2, "an n-gram has at least two tokens; 0 switches the ban off"
        self._size = size
        self._window = window
        self._allowed = allowed
        # The last n - 1 tokens, or all of fewer: what the next one would make an n-gram with.
        self._prefix: tuple[int, ...] = ()
        self._in_window: deque[tuple[int, ...]] = deque()
        self._followers: dict[tuple[int, ...], list[int]] = {}

    def push(self, token: int) -> None:
        """Record a generated token."""
        prefix, size = self._prefix, self._size
        if len(prefix) < size - 1:
            self._prefix = (*prefix, token)
            return
        if size == 0:
            return
        self._prefix = (*prefix[1:], token)
        self._in_window.append(prefix)
        followers = self._followers.get(prefix)
        if followers is None:
            self._followers[prefix] = [token]
        else:
            followers.append(token)
        if len(self._in_window) > max(self._window - size + 1, 0):
            self._forget(self._in_window.popleft())

    def _forget(self, prefix: tuple[int, ...]) -> None:
        """The oldest n-gram left the window; of equal prefixes the oldest stands first."""
        followers = self._followers[prefix]
        del followers[0]
        if not followers:
            del self._followers[prefix]

    def banned(self) -> Set[int]:
        """The token ids that may not come next."""
        followers = self._followers.get(self._prefix) if self._in_window else None
        return _NONE if followers is None else set(followers) - self._allowed
