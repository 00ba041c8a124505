"""Holds a text that a page is expected to contain, as marks and as tokens in the style of the model's output.

A mark is a byte that is not white space. Words are separated by breaks; how a break is written (a space, a new line, a
cell's tag) is the model's habit, learnt while it writes, so the marks stay and the text between them changes.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from ocr.transcript.token_bytes import TokenBytes

SPACES = b" \n\r\t\x0b\x0c"
# Kinds of breaks before a word: the beginning of the text, a space, a wide gap, a new line, a larger vertical gap.
START, WORD, CELL, LINE, GAP = range(5)
_WRITTEN_AT_FIRST = (b"", b" ", b" ", b"\n", b"\n\n")
_WORDS = re.compile(r"(\s*)(\S+)")
_KNOWN_ENDS = 4096
_MAX_END = 64
_MAX_LAYOUTS = 16


class Source:
    """One expected text. marks: its bytes without white space.

    text: a line feed separates lines, two separate paragraphs, a tab cells. Broken surrogates are left out.
    """

    def __init__(self, text: str, token_bytes: TokenBytes) -> None:
        self._bytes = token_bytes
        self._ends: dict[bytes, list[int]] = {}
        found = _WORDS.findall(text)
        words = [word.encode("utf-8", "ignore") for _, word in found]
        self._words = [word.translate(None, SPACES) for word in words]
        self.breaks = [START, *(_kind(space) for space, _ in found[1:])][: len(self._words)]
        self.marks = b"".join(self._words)
        self._first_mark = [0, *accumulate(map(len, self._words))]
        self._ordinal = _ordinals(self.breaks)
        self.line_starts = [
            self._first_mark[word] for word, kind in enumerate(self.breaks) if kind in (START, LINE, GAP)
        ]
        self._style = list(_WRITTEN_AT_FIRST)
        self._doubt: dict[int, tuple[bytes, int]] = {}
        self.tokens: list[int] = []
        self._num_layouts = 0
        self._lay_out()

    def _lay_out(self) -> None:
        """Writes the text in the current style, and cuts it into tokens."""
        self._num_layouts += 1
        pieces = [self._style[kind] + word for kind, word in zip(self.breaks, self._words, strict=True)]
        self.written = b"".join(pieces)
        ends = list(accumulate(map(len, pieces)))
        self._first_byte = [
            end - len(word) for end, word in zip(ends, self._words, strict=True)
        ]  # of each word, behind its break
        self.tokens = self._bytes.encode(self.written.decode("utf-8", "ignore")) if pieces else []
        self.starts = [0, *accumulate(len(self._bytes[token]) for token in self.tokens)]
        if self.starts[-1] != len(
            self.written
        ):  # the tokenizer changes the text, so the positions of its tokens are unknown
            self.tokens, self.starts = [], [0]

    def __bool__(self) -> bool:
        return bool(self.tokens)

    def mark_at(self, byte: int) -> int:
        """Returns the number of marks before a byte of the written text."""
        word = bisect_right(self._first_byte, byte) - 1
        if word < 0:
            return 0
        return min(self._first_mark[word] + byte - self._first_byte[word], self._first_mark[word + 1])

    def byte_at(self, mark: int, between: bytes = b"") -> int:
        """Returns the byte of a mark in the written text.

        between: the part of the break before it that was written. A word whose break was not written at all begins with
        its break; a break other than the expected one counts as the whole of it.
        """
        if mark >= len(self.marks):
            return len(self.written)
        word = bisect_right(self._first_mark, mark) - 1
        if mark > self._first_mark[word]:
            return self._first_byte[word] + mark - self._first_mark[word]
        expected = self._style[self.breaks[word]]
        done = len(between) if expected.startswith(between) else len(expected)
        return self._first_byte[word] - len(expected) + done

    def begins_word(self, mark: int) -> bool:
        """Returns whether a mark is the first of a word."""
        index = bisect_left(self._first_mark, mark)
        return index < len(self._words) and self._first_mark[index] == mark

    def space_before(self, byte: int) -> bytes:
        """Returns the white space and tags that end at a byte of the written text."""
        word = bisect_left(self._first_byte, byte)
        if word == len(self._words):
            return b""
        start = self._first_byte[word] - len(self._style[self.breaks[word]])
        return self.written[max(0, start) : byte] if byte > start else b""

    def tokens_from(self, byte: int) -> tuple[list[int], int]:
        """Returns how the text goes on at a byte: the tokens that end a word, and the number of the token after."""
        index = bisect_left(self.starts, byte)
        if index < len(self.starts) and self.starts[index] == byte:
            return [], index
        last = min(index + _MAX_END, len(self.starts) - 1)
        while index < last and self.written[self.starts[index]] not in SPACES:
            index += 1
        end = self.written[byte : self.starts[index]]
        if end not in self._ends:
            if len(self._ends) >= _KNOWN_ENDS:
                self._ends.clear()
            try:
                self._ends[end] = self._bytes.encode(end.decode())
            except UnicodeDecodeError:  # in the middle of a character
                self._ends[end] = []
        return self._ends[end], index

    def saw_break(self, mark: int, written: bytes) -> bool:
        """Learns how the break before a word's first mark was written; returns whether the text was laid out again."""
        word = bisect_left(self._first_mark, mark)
        kind = self.breaks[word]
        if kind in (START, WORD) or written == self._style[kind]:
            return False
        before, ordinal = self._doubt.get(kind, (b"", 0))
        self._doubt[kind] = written, self._ordinal[word]
        # Twice in a row, as a single one may be an exception.
        if before != written or not 0 < self._ordinal[word] - ordinal <= 2:
            return False
        if self._num_layouts > _MAX_LAYOUTS:
            return False
        self._style[kind] = written
        self._lay_out()
        return True


def _ordinals(kinds: Sequence[int]) -> list[int]:
    """Returns for each break its running number among those of its kind, from 1."""
    seen = [0] * 5
    found = []
    for kind in kinds:
        seen[kind] += 1
        found.append(seen[kind])
    return found


def _kind(space: str) -> int:
    feeds = space.count("\n")
    if feeds:
        return GAP if feeds > 1 else LINE
    return CELL if "\t" in space else WORD
