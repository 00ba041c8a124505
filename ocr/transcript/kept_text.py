"""Leaves parts of a model's output out, and knows where in the output the rest stood."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptText:
    """The text that is left. text_starts, raw_starts: where each kept part begins, in it and in the output."""

    text: str
    text_starts: tuple[int, ...]
    raw_starts: tuple[int, ...]

    @classmethod
    def without(cls, raw: str, cuts: Iterable[Span]) -> "KeptText":
        """Returns the output without these (start, end), which are in order and do not overlap."""
        parts, text_starts, raw_starts = [], [0], [0]
        length = at = 0
        for start, end in cuts:
            parts.append(raw[at:start])
            length += start - at
            at = end
            text_starts.append(length)
            raw_starts.append(end)
        text = "".join((*parts, raw[at:]))
        return cls(text=text, text_starts=tuple(text_starts), raw_starts=tuple(raw_starts))

    def in_raw(self, span: Span) -> Span:
        """Returns a span of the text as one of the output; what was cut at its ends is not part of it."""
        start, end = span
        if start == end:
            return self._position(start), self._position(start)
        return self._position(start), self._position(end - 1) + 1

    def _position(self, index: int) -> int:
        part = bisect_right(self.text_starts, index) - 1
        return self.raw_starts[part] + index - self.text_starts[part]
