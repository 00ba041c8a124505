"""Puts a text layer that was drawn in another order into that of reading, by the structure network. Torch-free.

Programs that set text draw it in the order of reading, which no network knows better; those that write invoices draw
values before their labels, lines from the foot up or columns from the right.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from unicodedata import bidirectional

import numpy as np

from ocr.line_reader.found_lines import LineWord, ReadLine, TextLine
from ocr.line_reader.page_text import page_parts
from ocr.paragraphs.line_tables import Rule
from ocr.types import BoxPx, ParsedText, Word
from pipeline.text_layer.extract.spans import Box, Span, as_text, parted_by
from pipeline.text_layer.extract.transcript import shown, words_of

# So many pieces of lines, and such a share of the page's, or one with so much of the page before and behind it, come
# behind others at their right or below them. Figures and formulas, of fewer letters, are drawn in any order.
_FEWEST, _SHARE, _LETTERS, _PARTED, _MOST = 3, 0.05, 3, 0.3, 5000  # of maps there are more pieces
# In type sizes: how far apart baselines of one line are at most, and of pieces that are joined; white between words.
_SAME_LINE, _LEVEL, _SPACE = 0.5, 0.1, 0.6


def is_scattered(spans: Sequence[Span]) -> bool:
    """Returns whether a layer, all of whose lines run to the right, was drawn in another order than that of reading."""
    if any(span.is_turned or set(map(bidirectional, span.line.text)) & {"R", "AL"} for span in spans):
        return False
    pieces = parted_by("\n\t", [span for span in spans if sum(map(str.isalpha, span.line.text)) >= _LETTERS])
    ends = [*accumulate(sum(len(span.glyphs) for span in piece) for piece in pieces)]
    back = [end for end, (a, b) in zip(ends, pairwise(pieces), strict=False) if _goes_back(a[-1], b[0])]
    parted = any(min(end, ends[-1] - end) > _PARTED * ends[-1] for end in back)
    return len(pieces) < _MOST and (parted or len(back) >= max(_FEWEST, _SHARE * len(pieces)))


def _goes_back(before: Span, after: Span) -> bool:
    """Returns whether words follow others at their right in the same line, or below in the same column."""
    near = _SAME_LINE * max(before.line.size, after.line.size)
    drop = after.line.base - before.line.base
    if abs(drop) < near:
        return after.line.x1 < before.line.x0 + near
    return drop < 0 and after.line.x0 < before.line.x1 - near


def in_order(
    spans: Sequence[Span],
    px_per_pt: float,
    size_px: tuple[int, int],
    rules: Sequence[Rule] = (),
    uprights: Sequence[Box] = (),
) -> tuple[ParsedText, tuple[str, ...]]:
    """Returns what `as_parsed` does: the text in order and the markdown of each block, without emphasis and links.

    rules, uprights: those drawn in either direction, in points.
    """
    across = [Rule(x0=rule.x0 * px_per_pt, x1=rule.x1 * px_per_pt, y=rule.y * px_per_pt) for rule in rules]
    down = [(a * px_per_pt, b * px_per_pt, c * px_per_pt, d * px_per_pt) for a, b, c, d in uprights]
    lines, boxes = list[ReadLine](), defaultdict[tuple[str, int, int], list[BoxPx]](list)
    for piece in _joined(parted_by("\n\t", shown(spans))):
        text = " ".join((as_text([span.line for span in piece]) or "").split())
        placed = [
            (word.text, word.box_px) for word in words_of(text, piece, px_per_pt, size_px) if word.box_px
        ]
        if placed:
            lines.append(_line(text, placed, piece, px_per_pt))
        for name, box in placed:
            boxes[name, box[0], box[2]].append(box)
    parts = [
        (replace(block, confidence=None), [_as_drawn(word, boxes) for word in words], marked)
        for block, words, marked in page_parts(lines, across, down, size_px)
    ]
    return ParsedText.of(parts), tuple(marked for _, _, marked in parts)


def _line(
    text: str, placed: Sequence[tuple[str, BoxPx]], piece: Sequence[Span], px_per_pt: float
) -> ReadLine:
    """Returns a piece of a line as one that was read for sure. placed: its words."""
    left, right = min(box[0] for _, box in placed), max(box[2] for _, box in placed)
    base, size = piece[0].line.base * px_per_pt, max(span.line.size for span in piece) * px_per_pt
    line = TextLine(left=left, right=right, baseline=np.full(right - left, base, np.float32), size=size)
    words = (LineWord(text=name, left=box[0], right=box[2], confidence=1.0) for name, box in placed)
    return ReadLine(line=line, text=text, confidence=1.0, words=tuple(words))


def _as_drawn(word: Word, boxes: Mapping[tuple[str, int, int], Sequence[BoxPx]]) -> Word:
    """Returns a word with the box around its letters in place of that of its line's height."""
    x0, top, x1, _ = word.box_px or (0, 0, 0, 0)
    own = min(boxes.get((word.text, x0, x1), ()), key=lambda box: abs(box[1] - top), default=word.box_px)
    return replace(word, box_px=own, confidence=None)


def _joined(pieces: Iterable[list[Span]]) -> Iterator[list[Span]]:
    """Yields pieces of lines, those that go on with each other as one, whichever was drawn first."""
    by_height = sorted(pieces, key=lambda piece: piece[0].line.base)
    lower = [b[0].line.base - a[0].line.base > _LEVEL * b[0].line.size for a, b in pairwise(by_height)]
    for start, end in pairwise([0, *(n for n, is_next in enumerate(lower, 1) if is_next), len(by_height)]):
        row = sorted(by_height[start:end], key=lambda piece: piece[0].line.x0)
        apart = [abs(b[0].line.x0 - a[-1].line.x1) > _SPACE * b[0].line.size for a, b in pairwise(row)]
        for first, last in pairwise([0, *(n for n, is_next in enumerate(apart, 1) if is_next), len(row)]):
            yield [span for piece in row[first:last] for span in piece]
