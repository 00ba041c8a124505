"""Leaves out of a text layer what is painted over: nobody sees it, and it may be what somebody blacked out.

Also lines with characters that map to no letter: these are to be read.

Torch-free.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import pymupdf

from pipeline.text_layer.extract.spans import Box, Glyph, Span, holds, hull, parted_by, rotated
from pipeline.text_layer.extract.symbols import UNKNOWN
from pipeline.text_layer.trust.ink import Cover, Drawn, Ink

# Share of the texts under pictures, beyond which the page is a scan with its text recognised.
_OF_A_SCAN = 0.02
_OPAQUE = 0.99
_SAME_PLACE_PT = 0.6  # between the left ends of a character as two of MuPDF's devices tell them
_FEW_LINES_PT = 40.0  # of a cover: what is written on a larger one stands in its own order
_UPRIGHT_PT = 0.1  # by which an upright line may slant
_ROUNDED = 8  # lines and curves of a rectangle with round corners


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Spans without what is painted over. rewritten: where something is, and other text on it."""

    spans: tuple[Span, ...]
    rewritten: tuple[Box, ...] = ()


def uncovered(spans: Sequence[Span], drawn: Drawn, ink: Ink) -> Seen:
    """Returns the spans without the characters that something opaque was painted over. Raises: whatever MuPDF does."""
    found, rewritten = tuple(spans), list[Box]()
    solid: Mapping[int, Sequence[Box]] | None = None
    for cover in drawn.covers if drawn.hidden_share <= _OF_A_SCAN else ():
        if not any(is_inside for span in found for is_inside, _ in _runs(span, cover.box)):
            continue
        solid = _solid(drawn.page) if solid is None else solid
        boxes = _boxes_of(cover, drawn.page, solid)
        if not boxes:  # of another shape, or seen through
            found = _without_plain(found, cover.box, ink, by_letter=True)
        for box in boxes:
            found = _without_plain(found, box, ink)
            if cover.is_written_on:
                bare = _without_older(found, box, cover.number, drawn.page)
                rewritten += [box] if bare != found and box[3] - box[1] <= _FEW_LINES_PT else []
                found = bare
    return Seen(spans=found, rewritten=tuple(rewritten))


def _runs(span: Span, box: Box) -> Iterator[tuple[bool, list[Glyph]]]:
    """Yields a span's characters that are in the box, and those that are not, as runs."""
    x0, y0, x1, y1 = box
    if span.box[0] < x1 and x0 < span.box[2] and span.box[1] < y1 and y0 < span.box[3]:
        for is_inside, run in groupby(span.chars, lambda char: holds(box, char.middle)):
            yield is_inside, list(run)


def _without_plain(spans: Sequence[Span], box: Box, ink: Ink, *, by_letter: bool = False) -> tuple[Span, ...]:
    """Returns the spans without what cannot be seen in a box; by_letter: where others there can, too."""
    found: list[Span] = []
    for span in spans:
        inside = [run for is_inside, run in _runs(span, box) if is_inside]
        if by_letter:  # one alone may be a point too small to be seen
            parts = (
                groupby(run, lambda char: char.text.isspace() or not ink.is_plain(char.box)) for run in inside
            )
            unseen = [list(letters) for part in parts for is_seen, letters in part if not is_seen]
            inside = [letters for letters in unseen if len(letters) > 1]
        found += _kept(span, {id(char) for run in inside if ink.is_plain(_common(run, box)) for char in run})
    return tuple(found)


def _without_older(spans: Sequence[Span], box: Box, number: int, page: Any) -> tuple[Span, ...]:
    """Returns the spans without what was drawn in a box before operation `number`; where it was drawn again, it stays.

    page: the pymupdf Page.
    """
    older, newer = list[Glyph](), list[Glyph]()
    for trace in page.get_texttrace():
        for code, _, _, place in trace["chars"]:
            char = Glyph(text=chr(code), box=tuple(pymupdf.Rect(place) * page.rotation_matrix))
            (newer if trace["seqno"] > number else older).append(char)
    gone: set[int] = set()
    inside = [
        (char, span) for span in spans for is_inside, run in _runs(span, box) if is_inside for char in run
    ]
    for char, span in reversed(inside):  # a copy that is left out is the older one
        again = [one for one in newer if _is_at(one, char, span)]
        alike = [one for one in again if one.text == char.text]
        was = any(one.text == char.text for one in older if _is_at(one, char, span))
        if alike or (again and not was):
            newer.remove((alike or again)[0])
        elif was or not again:
            gone.add(id(char))
    return tuple(kept for span in spans for kept in _kept(span, gone))


def _is_at(traced: Glyph, char: Glyph, span: Span) -> bool:
    left, own = (rotated(one.box, span.turn_deg)[0] for one in (traced, char))
    return abs(left - own) < _SAME_PLACE_PT and holds(char.box, traced.middle)


def _kept(span: Span, gone: set[int]) -> list[Span]:
    """Returns the span without characters, given by their ids; nothing if none is left to be seen."""
    if not any(id(char) in gone for char in span.chars):
        return [span]
    chars = [char for char in span.chars if id(char) not in gone]
    return [span.of(chars)] if any(not char.text.isspace() for char in chars) else []


def _common(run: Sequence[Glyph], box: Box) -> Box:
    """Returns the part of a box in which characters are."""
    x0, y0, x1, y1 = hull(char.box for char in run)
    return max(x0, box[0]), max(y0, box[1]), min(x1, box[2]), min(y1, box[3])


def _boxes_of(cover: Cover, page: Any, solid: Mapping[int, Sequence[Box]]) -> Sequence[Box]:
    """Returns the rectangles in which a cover lets nothing through."""
    if cover.kind != "fill-image":
        return solid.get(cover.number, ())
    whole = (
        pymupdf.Rect(one["bbox"]) * page.rotation_matrix
        for one in page.get_image_info()
        if not one["has-mask"]
    )
    return [cover.box] if any(abs(box & cover.box) >= 0.9 * abs(box | cover.box) for box in whole) else ()


def _solid(page: Any) -> dict[int, list[Box]]:
    """Returns the opaque rectangles that are painted by each drawing operation. page: a pymupdf Page."""
    found: dict[int, list[Box]] = {}
    around: list[Any] = []  # clips and groups that hold what follows
    for drawing in page.get_cdrawings(extended=True):  # two thirds of the time of get_drawings
        while around and around[-1]["level"] >= drawing["level"]:
            around.pop()
        if drawing["type"] in ("clip", "group"):
            around.append(drawing)
            continue
        groups = [one for one in around if one["type"] == "group"]
        is_normal = all(one["blendmode"] == "Normal" and one["opacity"] >= _OPAQUE for one in groups)
        if not is_normal:
            continue
        for box in _rectangles(drawing):
            for clip in around:
                box &= pymupdf.Rect(clip["scissor"]) if clip["type"] == "clip" else box
            if not box.is_empty:
                found.setdefault(drawing["seqno"], []).append(tuple(box * page.rotation_matrix))
    return found


def _rectangles(drawing: Any) -> list[Any]:
    """Returns the opaque rectangles that a path consists of, or that of a thick line; none for another shape."""
    items, kinds = drawing["items"], [item[0] for item in drawing["items"]]
    if drawing.get("fill") is None or drawing["fill_opacity"] < _OPAQUE:
        is_line = kinds == ["l"] and drawing.get("stroke_opacity", 0.0) >= _OPAQUE
        return [_thick(items[0][1], items[0][2], drawing["width"])] if is_line else []
    if all(kind in ("re", "qu") for kind in kinds):
        return [pymupdf.Rect(item[1]) if item[0] == "re" else pymupdf.Quad(item[1]).rect for item in items]
    lines = [item[1:3] for item in items if item[0] == "l"]
    is_upright = all(min(abs(a[0] - b[0]), abs(a[1] - b[1])) < _UPRIGHT_PT for a, b in lines)
    is_simple = len(lines) >= 3 and len(kinds) <= _ROUNDED and {"l", "c"} >= set(kinds)
    return [pymupdf.Rect(drawing["rect"])] if is_simple and is_upright else []


def _thick(start: Any, end: Any, width: float) -> Any:
    """Returns the rectangle of an upright line, which is empty for a slanted one."""
    (x0, y0), (x1, y1) = start, end
    across = width / 2 if abs(x1 - x0) < _UPRIGHT_PT else 0.0
    down = width / 2 if abs(y1 - y0) < _UPRIGHT_PT else 0.0
    box = min(x0, x1) - across, min(y0, y1) - down, max(x0, x1) + across, max(y0, y1) + down
    return pymupdf.Rect(box) if across or down else pymupdf.Rect()


# The share of a typeface's characters without a meaning from which on no other of it is believed; and how many are few.
_OF_A_FONT, _FEW = 0.1, 2


def mapped(spans: Sequence[Span]) -> tuple[tuple[Span, ...], int, int]:
    """Returns the spans without lines that hold such words, how many characters are unmapped, and how many went.

    A symbol by itself goes alone.
    """
    unmapped, total = Counter[str](), Counter[str]()
    for span in spans:
        total[span.font] += len(span.glyphs)
        unmapped[span.font] += sum(map(_is_unmapped, span.glyphs))
    if not unmapped.total():
        return tuple(spans), 0, 0
    bad = {font for font, number in unmapped.items() if number > max(_FEW, _OF_A_FONT * total[font])}
    kept: list[Span] = []
    for line in parted_by("\n\t", spans):
        if not any(span.font in bad or _loses_words(span) for span in line):
            kept += (span if not unmapped[span.font] else _meaningful(span) for span in line)
    shown = tuple(span for span in kept if span.glyphs)
    return shown, unmapped.total(), total.total() - sum(len(span.glyphs) for span in shown)


def _is_unmapped(glyph: Glyph) -> bool:
    """Returns whether a character has no meaning: it is U+FFFD, a control character or for private use."""
    return glyph.text[0] == UNKNOWN or unicodedata.category(glyph.text[0]) in ("Co", "Cn", "Cc", "Cs")


def _loses_words(span: Span) -> bool:
    """Returns whether an unmapped character is part of a word or number."""
    words = (
        list(word) for is_space, word in groupby(span.chars, lambda char: char.text.isspace()) if not is_space
    )
    return any(any(map(_is_unmapped, word)) and any(char.text.isalnum() for char in word) for word in words)


def _meaningful(span: Span) -> Span:
    """Returns the span without unmapped characters and the spaces after them."""
    chars: list[Glyph] = []
    for char in span.chars:
        if not _is_unmapped(char) and (chars or not char.text.isspace()):
            chars.append(char)
    return span.of(chars) if chars else replace(span, chars=(), glyphs=())
