"""Puts lines that run from right to left into reading order. Torch-free.

MuPDF returns the letters of each word in order, whichever way a program drew them; but a number, a word in Latin
letters or another typeface splits a line into runs that come in drawing order. Their positions tell the reading order:
it is the Unicode bidirectional algorithm (UAX 9) run backwards, without embeddings.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Literal

from pipeline.text_layer.extract.spans import Glyph, Span

Direction = Literal["right", "left", "number", "neutral", "mark"]
# In type sizes.
_SAME_LINE, _APART = 0.5, 10.0
_SPACE = 0.12
_TURNED_BACK = 0.1
_OF_CLASS: dict[str, Direction] = {
    "R": "left", "AL": "left", "L": "right", "EN": "number", "AN": "number", "NSM": "mark", "BN": "mark",
}  # fmt: skip
# Presentation forms of letters, which some programs store.
_SHAPE = re.compile(r"[\ufb1d-\ufdff\ufe70-\ufefc]")
_OPENING, _CLOSING = "([{«", ")]}»"
_MIRRORED = str.maketrans(_OPENING + _CLOSING, _CLOSING + _OPENING)

Run = tuple[Direction, list[Glyph]]


def in_reading_order(spans: Sequence[Span]) -> list[Span]:
    """Returns the spans, with each line that has right-to-left letters as one span in reading order."""
    num_left, num_right = _letters(spans)
    if not num_left:
        return list(spans)
    is_leftward = num_left > num_right  # holds also for a line of such a page that is mostly a Latin name
    found: list[Span] = []
    for row in _rows(spans):
        here_left, here_right = _letters(row)
        found += [_read(row, is_leftward or here_left > here_right)] if here_left else row
    return found


def _letters(spans: Sequence[Span]) -> tuple[int, int]:
    """Returns how many letters run to the left and to the right."""
    directions = [_direction(char.text) for span in spans for char in span.glyphs]
    return directions.count("left"), directions.count("right")


def backward_share(spans: Sequence[Span]) -> float:
    """Returns the share of neighbouring right-to-left letters that are stored the other way round, 0 to 1."""
    pairs = backward = 0
    for span in spans:
        for before, char in pairwise(span.chars):
            if _direction(before.text) == _direction(char.text) == "left":
                pairs += 1
                width = max(before.box[2] - before.box[0], char.box[2] - char.box[0])
                backward += char.middle[0] > before.middle[0] + _TURNED_BACK * width
    return backward / pairs if pairs else 0.0


def _rows(spans: Sequence[Span]) -> Iterator[list[Span]]:
    """Yields the spans of each printed line, split at gaps as wide as those between columns."""
    row: list[Span] = []
    for span in spans:
        if row and not _is_beside(row, span):
            yield row
            row = []
        row.append(span)
    if row:
        yield row


def _is_beside(row: Sequence[Span], span: Span) -> bool:
    size = max(span.line.size, row[0].line.size)
    if span.is_turned or row[0].is_turned or abs(span.line.base - row[-1].line.base) > _SAME_LINE * size:
        return False
    right, left = max(one.box[2] for one in row), min(one.box[0] for one in row)
    return span.box[0] < right + _APART * size and span.box[2] > left - _APART * size


def _read(row: Sequence[Span], is_leftward: bool) -> Span:
    """Returns a line, which mostly runs to the left or right, as one span in the typeface of most characters."""
    runs = [run for span in row for run in _runs(span.chars)]
    runs.sort(key=lambda run: min(char.middle[0] for char in run[1]), reverse=is_leftward)
    is_arabic = any(unicodedata.bidirectional(char.text[:1]) == "AL" for span in row for char in span.glyphs)
    spaced = list(_spaced(_whole_numbers(runs, ".,:/" if is_arabic else ".,:/-+"), row[0].line.size))
    ordered = _other_way_round(spaced, "right" if is_leftward else "left")
    chars = [char for _, run in ordered for char in run]
    main = max(row, key=lambda span: len(span.glyphs))
    marks = [number for number, char in enumerate(chars) if not char.text.isspace()]
    chars = [
        replace(char, text=unicodedata.normalize("NFKC", char.text)) if _SHAPE.match(char.text) else char
        for char in chars[marks[0] : marks[-1] + 1]
    ]
    return main.of(_with_brackets(chars) if is_leftward else chars)


def _with_brackets(chars: list[Glyph]) -> list[Glyph]:
    """Returns the line with brackets that open before they close: some programs store them mirrored, as drawn."""
    brackets = [char.text for char in chars if char.text in _OPENING + _CLOSING]
    if len(brackets) < 2 or brackets[0] in _OPENING or brackets[-1] in _CLOSING:
        return chars
    return [replace(char, text=char.text.translate(_MIRRORED)) for char in chars]


def _runs(chars: Sequence[Glyph]) -> Iterator[Run]:
    """Yields runs of characters in one direction. Marks stay with their letter; each space is a run of its own."""
    directions: list[Direction] = []
    for char in chars:
        own = _direction(char.text)
        directions.append(directions[-1] if own == "mark" and directions else own)
    keys = [(own, number if own == "neutral" else -1) for number, own in enumerate(directions)]
    for key, run in groupby(range(len(chars)), key=keys.__getitem__):
        yield key[0], _in_order(key[0], [chars[number] for number in run])


def _whole_numbers(runs: Sequence[Run], separators: str) -> list[Run]:
    """Returns the runs of a line, as they stand, with numbers like 1,234 and 12:30 in one, whatever their typefaces.

    separators: after an Arabic letter, a hyphen between two numbers leaves them two.
    """
    found: list[Run] = []
    for run in runs:
        is_inside = len(found) > 1 and found[-2][0] == "number" == run[0] and len(found[-1][1]) == 1
        if is_inside and found[-1][1][0].text in separators:
            (_, separator), (_, first) = found.pop(), found.pop()
            run = "number", _in_order("number", [*first, *separator, *run[1]])
        found.append(run)
    return found


def _spaced(runs: Sequence[Run], size: float) -> Iterator[Run]:
    """Yields the runs of a line, as they stand, with a space between those that are apart but have none."""
    for number, run in enumerate(runs):
        if number and _are_apart(runs[number - 1][1], run[1], size):
            yield "neutral", [Glyph(text=" ", box=run[1][0].box)]
        yield run


def _in_order(direction: Direction, chars: list[Glyph]) -> list[Glyph]:
    """Returns a run in reading order: numbers run left to right in every script, but MuPDF reverses Arabic ones."""
    return sorted(chars, key=lambda char: char.middle[0]) if direction == "number" else chars


def _other_way_round(runs: Sequence[Run], other: Direction) -> Iterator[Run]:
    """Yields the runs of a line, with passages in the other direction reversed, including the numbers in them."""
    start = 0
    while start < len(runs):
        end = start + 1
        if runs[start][0] in (other, "number"):
            for number in range(start + 1, len(runs)):
                if runs[number][0] not in (other, "number", "neutral"):
                    break
                if runs[number][0] == other or (other == "right" and runs[number][0] == "number"):
                    end = number + 1
        part = runs[start:end]
        yield from reversed(part) if any(direction == other for direction, _ in part) else part
        start = end


def _are_apart(before: Sequence[Glyph], run: Sequence[Glyph], size: float) -> bool:
    """Returns whether two neighbours are far enough apart for a space but none is stored."""
    if before[-1].text.isspace() or run[0].text.isspace():
        return False
    (a0, a1), (b0, b1) = (
        (min(char.box[0] for char in chars), max(char.box[2] for char in chars)) for chars in (before, run)
    )
    return max(b0 - a1, a0 - b1) > _SPACE * size


def _direction(letter: str) -> Direction:
    return _OF_CLASS.get(unicodedata.bidirectional(letter[:1]), "neutral")
