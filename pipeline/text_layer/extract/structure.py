"""Finds the tables of a text layer by the structure network, which also puts layers drawn in another order into that of
reading. Torch-free.

Programs that set text draw it in the order of reading, which no network knows better; those that write invoices draw
values before their labels, lines from the foot up or columns from the right.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any
from unicodedata import bidirectional

import numpy as np
import pymupdf

from ocr.line_reader.found_lines import LineWord, ReadLine, TextLine
from ocr.line_reader.page_text import arranged
from ocr.paragraphs.line_tables import Rule, Table
from pipeline.text_layer.extract.ruled_tables import drawings_of, drawn_rules, find_tables
from pipeline.text_layer.extract.spans import Span, as_text, parted_by, runs
from pipeline.text_layer.extract.transcript import words_of

# So many pieces of lines, and such a share of the page's, or one with so much of the page before it, and behind it or
# others in its column below, come behind others at their right or below. Formulas, of fewer letters, have any order.
_FEWEST, _SHARE, _LETTERS, _PARTED, _MOST = 3, 0.05, 3, 0.3, 5000  # of maps there are more pieces
# In type sizes: how far apart baselines of one line are at most, and of pieces that are joined; white between words.
_SAME_LINE, _LEVEL, _SPACE = 0.5, 0.1, 0.6
_SCALE, _FEWEST_ROWS = 2.0, 2  # pixels a point, as the network sees pages; rows of a table
_SUM = re.compile(r"(?:\d[.,]\d\d|(?:[€$£₹]|Rs\.?) ?[\d.,]*\d)(?: ?(?:[€$£]|EUR|USD|CHF))?\s*$")


def is_scattered(spans: Sequence[Span]) -> bool:
    """Returns whether a layer, all of whose lines run to the right, was drawn in another order than that of reading."""
    letters = set[str]().union(*(span.line.text for span in spans))
    if any(span.is_turned for span in spans) or {"R", "AL"} & set(map(bidirectional, letters)):
        return False
    pieces = parted_by("\n\t", [span for span in spans if sum(map(str.isalpha, span.line.text)) >= _LETTERS])
    ends = [*accumulate(sum(len(span.glyphs) for span in piece) for piece in pieces)]
    back = [n for n, (a, b) in enumerate(pairwise(pieces), 1) if _goes_back(a[-1], b[0])]
    late = [n for n in back if ends[n - 1] > _PARTED * ends[-1]]
    others = [] if late and _has_amounts(spans) else pieces  # rows of sums would be torn
    parted = any(ends[n - 1] < (1 - _PARTED) * ends[-1] or _is_amid(pieces[n], others[:n]) for n in late)
    return len(pieces) < _MOST and (parted or len(back) >= max(_FEWEST, _SHARE * len(pieces)))


def _is_amid(piece: Sequence[Span], earlier: Iterable[Sequence[Span]]) -> bool:
    """Returns whether words were drawn behind others that stand below them in their column, as bands with text are."""
    x0, x1, low = piece[0].line.x0, piece[-1].line.x1, piece[0].line.base + piece[0].line.size
    return any(it[0].line.base > low and it[0].line.x0 < x1 and it[-1].line.x1 > x0 for it in earlier)


def _goes_back(before: Span, after: Span) -> bool:
    """Returns whether words follow others at their right in the same line, or below in the same column."""
    a, b = before.line, after.line
    near, drop = _SAME_LINE * max(a.size, b.size), b.base - a.base
    return b.x1 < a.x0 + near if abs(drop) < near else drop < 0 and b.x0 < a.x1 - near


def structured(page: Any, spans: Sequence[Span]) -> tuple[Sequence[Span], list[Table]]:
    """Returns the spans in the order of reading, and the tables that they make, in points.

    page: a pymupdf Page. Raises: whatever MuPDF does.
    """
    drawings, is_out_of_order, named = drawings_of(page), is_scattered(spans), list[Table]()
    if is_out_of_order or _has_amounts(spans):
        level = [span for span in spans if not span.is_turned]
        ordered, named = _by_network(level, page, drawings)
        spans = ordered if is_out_of_order else spans
    return spans, find_tables(page, drawings, spans, named)


def _has_amounts(spans: Sequence[Span]) -> bool:
    """Returns whether sums stand beside other things in several lines, as on invoices, which the network knows better
    than rules do; programs, formulas, plots and lists of terms in manuals it takes for tables, or does not see."""
    level = [span for span in spans if span.glyphs and not span.is_turned]
    is_mono = 2 * sum(span.is_monospaced for span in level) > len(level)
    rows = parted_by("\n", [span for span in level if is_mono or not span.is_monospaced])
    parts = (parted_by("\t", row) for row in rows)
    sums = [any(_SUM.search(it[-1].line.text) for it in own) for own in parts if len(own) > 1]
    return sum(sums) >= _FEWEST_ROWS


def _by_network(spans: Sequence[Span], page: Any, drawings: Sequence[Any]) -> tuple[list[Span], list[Table]]:
    """Returns spans that run from left to right in the order that the network says, and the tables that it sees."""
    size_px = round(_SCALE * page.rect.width), round(_SCALE * page.rect.height)
    pieces = list(_joined(parted_by("\n\t", spans)))
    lines = {n: line for n, piece in enumerate(pieces) if (line := _line(piece, size_px))}
    owners = {id(word): n for n, line in lines.items() for word in line.words}
    across, down = drawn_rules(drawings)
    rules = [Rule(x0=_SCALE * rule.x0, x1=_SCALE * rule.x1, y=_SCALE * rule.y) for rule in across]
    uprights = [tuple(pymupdf.Rect(box) * _SCALE) for box in down]
    _, rows, tables = arranged(list(lines.values()), rules, uprights, size_px)
    found = (owners[id(word)] for row in rows for cell in row.cells for word in cell.words)
    order = dict.fromkeys([*found, *range(len(pieces))])
    named = (own for *_, own in tables.values())
    points = [tuple(replace(it, box=tuple(pymupdf.Rect(it.box) / _SCALE)) for it in own) for own in named]
    return [span for number in order for span in pieces[number]], points


def _line(piece: Sequence[Span], size_px: tuple[int, int]) -> ReadLine | None:
    """Returns a piece of a line as one that was read for sure; None where none of its words can be seen."""
    text = " ".join((as_text([span.line for span in piece]) or "").split())
    placed = [(word.text, word.box_px) for word in words_of(text, piece, _SCALE, size_px) if word.box_px]
    if not placed:
        return None
    left, right = min(box[0] for _, box in placed), max(box[2] for _, box in placed)
    base, size = _SCALE * piece[0].line.base, _SCALE * max(span.line.size for span in piece)
    line = TextLine(left=left, right=right, baseline=np.full(right - left, base, np.float32), size=size)
    words = (LineWord(text=name, left=box[0], right=box[2], confidence=1.0) for name, box in placed)
    return ReadLine(line=line, text=text, confidence=1.0, words=tuple(words))


def _joined(pieces: Iterable[list[Span]]) -> Iterator[list[Span]]:
    """Yields pieces of lines, those that go on with each other as one, whichever was drawn first."""
    by_height = sorted(pieces, key=lambda piece: piece[0].line.base)
    for row in runs(by_height, lambda a, b: b[0].line.base - a[0].line.base > _LEVEL * b[0].line.size):
        across = sorted(row, key=lambda piece: piece[0].line.x0)
        for own in runs(across, lambda a, b: abs(b[0].line.x0 - a[-1].line.x1) > _SPACE * b[0].line.size):
            yield [span for piece in own for span in piece]
