"""Drafts from the page's own text: proposes the tokens that followed the last time the same ones were written.

Source: prompt lookup decoding (Saxena, 2023), here over the output, as the prompt is pixels.
"""

from collections.abc import Sequence

_LONG, _SHORT = 4, 2
_FEW = 4  # tokens that are proposed after a short match


class RepeatDraft:
    """Proposes the tokens that followed the last four tokens at their latest earlier occurrence.

    Where those are new, it proposes a few that followed the last two.
    """

    def __init__(self) -> None:
        self._ends: dict[tuple[int, ...], int] = {}
        self._seen = 0
        self._last = -1

    def propose(self, tokens: Sequence[int], limit: int) -> list[int]:
        """Returns up to limit tokens (ocr.speculative.draft.Draft); [] where the last ones are new."""
        count = len(tokens)
        if count < self._seen or (self._seen and tokens[self._seen - 1] != self._last):
            self._ends.clear()
            self._seen = 0
        for size in (_LONG, _SHORT):
            self._learn(tokens, size)
        self._seen, self._last = count, tokens[-1] if count else -1
        for size, most in ((_LONG, limit), (_SHORT, min(limit, _FEW))):
            end = self._ends.get(tuple(tokens[count - size :])) if count > size else None
            if end is not None:
                return list(tokens[end : end + max(0, most)])
        return []

    def _learn(self, tokens: Sequence[int], size: int) -> None:
        """Notes where each run ends, except the last one, which is the run to search for."""
        first = max(size, self._seen)
        starts = [tokens[first - size + place :] for place in range(size)]
        self._ends.update(zip(zip(*starts, strict=False), range(first, len(tokens)), strict=False))
