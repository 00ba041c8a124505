"""Drafts from a text that the page is expected to contain: its text layer.

The output is followed in that text, ignoring white space, and the text's continuation is proposed. Where the two
differ, the place is found again by the last few marks, near the expected place if they occur there too.
"""

from bisect import bisect_left
from collections.abc import Sequence

from ocr.speculative.draft_source import SPACES, Source
from ocr.speculative.realign import realigned
from ocr.transcript.token_bytes import TokenBytes

_TAIL_TOKENS = 24
_CATCH_UP, _LAST_FEW = 48, 12
# Marks that must agree, and how far from the expected place they may be; None for anywhere.
_NEAR = ((8, 60), (5, 24), (4, 12), (3, 5), (12, 2000), (8, 400), (5, 80))
_ANYWHERE = (12, 8)
_LINES = 100  # ahead, and as many behind
_LINE_START = 6  # up to this many marks of a new line are compared with the beginnings of lines
_CLOSE = ((3, 24), (6, None), (2, 6))
_MAX_MISSES = 3


class TextDraft:
    """Follows one page's output in a text.

    Text: in the form of ocr.speculative.draft_source.Source; any text will do.
    """

    def __init__(self, text: str, token_bytes: TokenBytes) -> None:
        self._bytes = token_bytes
        self._source = Source(text, token_bytes)
        self._start_over()

    def _start_over(self) -> None:
        self._seen = 0
        self._last = -1
        self._front: list[int] = []  # tokens before that number _next of the source
        self._next = 0
        self._misses = 0
        self._between = b""  # written since the last mark
        self._inside_tag = False

    def propose(self, tokens: Sequence[int], limit: int) -> list[int]:
        """Returns up to limit tokens; [] while the output is not found in the text. tokens: all that were written."""
        if not self._source or limit <= 0:
            return []
        count = len(tokens)
        if count < self._seen or (self._seen and tokens[self._seen - 1] != self._last):
            self._start_over()
        if count > self._seen:
            self._follow(tokens)
            self._seen, self._last = count, tokens[-1]
        if self._misses > _MAX_MISSES or self._inside_tag:
            return []
        front = self._front[:limit]
        return front + self._source.tokens[self._next : self._next + limit - len(front)]

    def _follow(self, tokens: Sequence[int]) -> None:
        known, at, count = self._source.tokens, self._seen, len(tokens)
        byte, between = self._byte(), self._between
        while at < count:
            if self._front:
                if self._front[0] != tokens[at]:
                    break
                self._front = self._front[1:]
            elif self._next < len(known) and known[self._next] == tokens[at]:
                self._next += 1
            else:
                break
            at += 1
        if at > self._seen:
            self._misses, self._between = 0, b""
            if between:
                self._learn_break(byte, between)
        if at < count:
            self._look_for(tokens, at)

    def _byte(self) -> int:
        """Returns the place in the source's written text."""
        return self._source.starts[self._next] - sum(len(self._bytes[token]) for token in self._front)

    def _learn_break(self, byte: int, between: bytes) -> None:
        """Learns the break before the word at a byte: the word was written as expected, its break perhaps not."""
        source, now = self._source, self._byte()
        mark, done = source.mark_at(now), source.space_before(now)
        word = source.mark_at(byte)
        if source.begins_word(word) and source.saw_break(word, between):
            self._front, self._next = source.tokens_from(source.byte_at(mark, done))

    def _look_for(self, tokens: Sequence[int], at: int) -> None:
        """Finds the place again from the first token that was not expected."""
        source = self._source
        byte = self._byte()
        mark = source.mark_at(byte)
        if not self._between:
            self._between = source.space_before(byte)
        if len(tokens) - at > _CATCH_UP:  # not asked for a long time: the last few tokens find the place anew
            at = len(tokens) - _LAST_FEW
        for number in range(at, len(tokens)):
            token = tokens[number]
            if self._bytes.is_notation(token):
                self._take_tag(self._bytes[token])
            elif not self._inside_tag:
                mark = self._take(self._bytes[token], mark, tokens, number)
        self._front, self._next = source.tokens_from(source.byte_at(mark, self._between))

    def _take_tag(self, tag: bytes) -> None:
        """Takes a tag: a region's label and box are not printed on the page, and a table's tags are written breaks."""
        if tag in (b"<|ref|>", b"<|det|>"):
            self._inside_tag = True
        elif tag in (b"<|/ref|>", b"<|/det|>"):
            self._inside_tag = False
        else:
            self._between += tag

    def _take(self, written: bytes, mark: int, tokens: Sequence[int], number: int) -> int:
        """Returns the number of marks before the place reached by a token that was written at mark."""
        source = self._source
        marks = written.translate(None, SPACES)
        if not marks:
            self._between += written
            return mark
        between = self._between + written[: len(written) - len(written.lstrip(SPACES))]
        self._between = written[len(written.rstrip(SPACES)) :]
        if source.marks.startswith(marks, mark):
            self._misses = 0
            if between and source.begins_word(mark):
                source.saw_break(mark, between)
            return mark + len(marks)
        expected, certain = realigned(source.marks, mark, marks)
        found = expected if certain else _place(source, self._tail(tokens, number), expected)
        self._misses = 0 if found is not None else self._misses + 1
        return expected if found is None else found

    def _tail(self, tokens: Sequence[int], number: int) -> bytes:
        """Returns the last bytes written, up to and including a token, without tags."""
        return b"".join(
            self._bytes[token]
            for token in tokens[max(0, number + 1 - _TAIL_TOKENS) : number + 1]
            if not self._bytes.is_notation(token)
        )


def _place(source: Source, written: bytes, expected: int) -> int | None:
    """Returns the number of marks before the place reached by the written text, None where it is not found."""
    tail = written.translate(None, SPACES)
    for size, reach in _NEAR:
        if (found := _nearest(source.marks, tail, size, expected, reach)) is not None:
            return found
    for size in _ANYWHERE:
        if (found := _nearest(source.marks, tail, size, expected, None)) is not None:
            return found
    if (found := _line_start(source, written, expected)) is not None:
        return found
    for size, near in _CLOSE:
        if (found := _nearest(source.marks, tail, size, expected, near)) is not None:
            return found
    return None


def _nearest(marks: bytes, tail: bytes, size: int, expected: int, reach: int | None) -> int | None:
    """Returns the end nearest to the expected one of the tail's last marks, those ahead first without a reach."""
    if len(tail) < size:
        return None
    gram = tail[-size:]
    end = len(marks) if reach is None else expected + reach
    after = marks.find(gram, max(0, expected - size), end)
    if after >= 0 and (reach is None or after + size == expected):
        return after + size
    before = marks.rfind(gram, 0 if reach is None else max(0, expected - size - reach), max(0, expected - 1))
    if before < 0:
        return after + size if after >= 0 else None
    if after < 0 or expected - (before + size) < after + size - expected:
        return before + size
    return after + size


def _line_start(source: Source, written: bytes, expected: int) -> int | None:
    """Returns the place in the nearest line that begins as the written one does, the lines ahead first."""
    _, feed, last = written.rpartition(b"\n")
    begun = last.translate(None, SPACES)
    if not feed or not 0 < len(begun) <= _LINE_START:
        return None
    starts = source.line_starts
    ahead = bisect_left(starts, expected - len(begun))
    for start in (*starts[ahead : ahead + _LINES], *starts[max(0, ahead - _LINES) : ahead][::-1]):
        if source.marks.startswith(begun, start):
            return start + len(begun)
    return None
