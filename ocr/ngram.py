"""No repeated n-gram inside a sliding window of the generated tokens."""

from collections import defaultdict, deque


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
        self._recent: deque[int] = deque(maxlen=max(size, 1))
        self._in_window: deque[tuple[int, ...]] = deque()
        self._followers: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)

    def push(self, token: int) -> None:
        """Record a generated token."""
        self._recent.append(token)
        if self._size == 0 or len(self._recent) < self._size:
            return
        self._in_window.append(tuple(self._recent))
        self._followers[self._in_window[-1][:-1]].append(token)
        if len(self._in_window) > max(self._window - self._size + 1, 0):
            self._forget(self._in_window.popleft()[:-1])

    def _forget(self, prefix: tuple[int, ...]) -> None:
        """The oldest n-gram left the window; of equal prefixes the oldest stands first."""
        followers = self._followers[prefix]
        del followers[0]
        if not followers:
            del self._followers[prefix]

    def banned(self) -> set[int]:
        """The token ids that may not come next."""
        if not self._in_window:
            return set()
        prefix = tuple(self._recent)[1:]
        return set(self._followers.get(prefix, ())) - self._allowed
