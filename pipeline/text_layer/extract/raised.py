"""Tells small raised figures from those on the line, and joins an initial that is lines high with its word. Torch-free.

A text layer has 10 to the 8th as 108, and a word's initial, many times as large as the rest of it, as a word of its
own.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from pipeline.text_layer.extract.spans import Span

_RAISED = str.maketrans("0123456789+-−=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾")
_FIGURES = re.compile(r"[-+−=(]*\d[\d+−=(),;.–-]*")
# In sizes of the type beside them: how large raised figures are, and how far their baseline is above its.
_SMALLER, _HIGHER = (0.4, 0.87), (0.12, 0.75)
_BEFORE, _AFTER = (-0.3, 0.6), (-0.3, 1.3)  # how far they stand from what is before them, or after
_SAME = 0.1  # in their own size
# An initial: how much larger it is than its word, how far from it in its own size, and in the word's size how far their
# tops are apart. A capital's height is about this much of its size.
_LARGER, _BESIDE, _TOPS, _CAPITAL = 1.8, (-0.15, 0.5), 0.8, 0.7
_INITIAL = re.compile(r"[\"'“„«‘]?\s?[^\W\d_]")
_MAY_STAND_ALONE = frozenset("AI")


def raised(spans: Sequence[Span]) -> list[Span]:
    """Returns the spans with small raised figures as the characters for them: 10⁸, and a note's mark ¹."""
    found: list[Span] = []
    up: set[int] = set()
    for at, span in enumerate(spans):
        if _FIGURES.fullmatch(span.line.text.strip()) and not span.is_turned and _is_raised(spans, at, up):
            up.add(at)
            span = span.of([replace(char, text=char.text.translate(_RAISED)) for char in span.chars])
        found.append(span)
    return found


def _is_raised(spans: Sequence[Span], at: int, up: set[int]) -> bool:
    span, before, after = spans[at], spans[max(0, at - 1) : at], spans[at + 1 : at + 2]
    return (
        any(_is_above(span, it, span.line.x0 - it.line.x1, _BEFORE) for it in before)
        or (at - 1 in up and _is_level(span, spans[at - 1]))  # 1, 2
        or any(_is_above(span, it, it.line.x0 - span.line.x1, _AFTER) for it in after)
    )


def _is_above(span: Span, beside: Span, gap: float, near: tuple[float, float]) -> bool:
    """Returns whether a span is smaller and higher than another that stands so near."""
    size = beside.line.size
    if beside.is_turned or size <= 0 or not near[0] * size <= gap <= near[1] * size:
        return False
    rise = (beside.line.base - span.line.base) / size
    return (
        _SMALLER[0] <= span.line.size / size <= _SMALLER[1]
        and _HIGHER[0] < rise <= _HIGHER[1]
        and bool(beside.line.text.strip())
    )


def _is_level(span: Span, before: Span) -> bool:
    size = span.line.size
    near = abs(span.line.base - before.line.base) < _SAME * size and abs(span.line.x0 - before.line.x1) < size
    return near and abs(size - before.line.size) < _SAME * size


def with_initials(spans: Sequence[Span]) -> list[Span]:
    """Returns the spans with each initial that is lines high as the first letter of its word."""
    usual = median([span.line.size for span in spans]) if spans else 0.0
    joined = {
        place: at
        for at, span in enumerate(spans)
        if span.line.size >= _LARGER * usual
        for place in _words_of(spans, span)
    }
    initials = set(joined.values())
    return [
        _joined(spans[joined[at]], span, spans) if at in joined else span
        for at, span in enumerate(spans)
        if at not in initials
    ]


def _words_of(spans: Sequence[Span], initial: Span) -> Iterator[int]:
    """Yields the place of the span whose first word an initial begins, if that is one: the nearest beside its top."""
    text = initial.line.text.strip()
    if initial.is_turned or not _INITIAL.fullmatch(text) or not text[-1].isupper():
        return
    near = [(span.line.x0, place) for place, span in enumerate(spans) if _begins_beside(initial, span)]
    yield from (place for _, place in sorted(near)[:1])


def _begins_beside(initial: Span, span: Span) -> bool:
    large, line = initial.line, span.line
    if span.is_turned or not line.text[:1].isalpha() or large.size < _LARGER * line.size:
        return False
    tops = (large.base - _CAPITAL * large.size) - (line.base - _CAPITAL * line.size)
    gap = (line.x0 - large.x1) / large.size
    return abs(tops) < _TOPS * line.size and _BESIDE[0] <= gap <= _BESIDE[1]


def _joined(initial: Span, span: Span, spans: Sequence[Span]) -> Span:
    """Returns the span with its initial. A letter that may be a word stays one where what follows it is one too."""
    letters = [char for char in initial.chars if not char.text.isspace()]
    own, rest = letters[-1].text, span.line.text.split(maxsplit=1)[0]
    if own in _MAY_STAND_ALONE:
        words = {word for other in spans if other is not span for word in other.line.text.split()}
        if rest in words and own + rest not in words:
            letters.append(replace(letters[-1], text=" "))
    return span.of([*letters, *span.chars])
