"""Turns a text layer into a transcript: text, markdown and blocks with boxes, in the layer's own order. Torch-free."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median
from typing import Any

from ocr.paragraphs import table_markup, text_lines
from ocr.paragraphs.flow import Flow
from ocr.paragraphs.line_kinds import heading, may_be_heading
from ocr.paragraphs.line_tables import Table
from ocr.types import Block, ParsedText, Word
from pipeline.text_layer.extract import markdown as layer_markdown
from pipeline.text_layer.extract.bidi import in_reading_order
from pipeline.text_layer.extract.markdown import BULLET, Link
from pipeline.text_layer.extract.raised import raised, with_initials
from pipeline.text_layer.extract.ruled_tables import FilledTable, filled
from pipeline.text_layer.extract.spans import BREAK_GAP, Box, Span, as_text, between, clean, hull, parted_by

_SAME_SIZE, _LONGEST_BOLD_TITLE = 1.1, 100  # of the type within a paragraph; in characters
_MOSTLY, _FOOT = 0.5, 0.93  # of the page's height: what begins below is no heading
_PARAGRAPH = "\n\n"
# In type sizes: lines of running text are longer, and no further apart. How much further paragraphs are; so many tell.
_LONG, _DOUBLE, _FURTHER, _ENOUGH = 20.0, 2.6, 1.2, 4
_LEVELS = {"title": 1, "sub_title": 2}
_BOLD_LEVEL = 3


Line = list[Span]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Body:
    """The type of most of the page's text, against which headings and code are recognised."""

    size: float
    break_gap: float  # in type sizes, as in `between`
    is_bold: bool
    is_monospaced: bool

    @classmethod
    def of(cls, spans: Sequence[Span]) -> "_Body":
        sizes: Counter[float] = Counter()
        for span in spans:
            sizes[round(span.line.size * 2) / 2] += len(span.glyphs)
        total = max(1, sizes.total())
        long = (
            (below[0].line.base - row[-1].line.base) / row[0].line.size
            for row, below in pairwise(parted_by("\n", spans))
            if row[-1].line.x1 - row[0].line.x0 > _LONG * row[0].line.size
        )
        drops = [drop for drop in long if 1 < drop < _DOUBLE]
        usual = median(drops) if len(drops) >= _ENOUGH else 1.0
        return cls(
            break_gap=max(BREAK_GAP, _FURTHER * usual),
            size=sizes.most_common(1)[0][0] if sizes else 0.0,
            is_bold=sum(len(span.glyphs) for span in spans if span.is_bold) > _MOSTLY * total,
            is_monospaced=sum(len(span.glyphs) for span in spans if span.is_monospaced) > _MOSTLY * total,
        )


def as_parsed(
    spans: Sequence[Span],
    px_per_pt: float,
    size_px: tuple[int, int],
    links: Sequence[Link] = (),
    tables: Sequence[Table] = (),
) -> tuple[ParsedText, tuple[str, ...]]:
    """Returns the layer's text in paragraphs, and the markdown of each.

    size_px: the page's width and height, to which boxes are clipped.

    Blocks are "title" and "sub_title" by their type size, "table", "list", "code" and "text". Their texts have no
    markup and make up the text; emphasis, links and tags are only in the markdown.
    """
    own = shown(spans)
    body = _Body.of(own)
    parts = []
    for part in _parts(filled(own, tables), body.break_gap):
        if isinstance(part, FilledTable):
            label, inside = "table", part.spans
            text, marked = table_markup.as_text(part.rows), table_markup.as_markdown(part.rows)
        elif (made := _paragraph(part, body, links)) is not None:
            inside, (label, text, marked) = tuple(span for line in part for span in line), made
            if label in _LEVELS and inside[0].line.base * px_per_pt > _FOOT * size_px[1]:
                label, marked = "text", text
        else:
            continue
        block = Block(label=label, text=text, box_px=_box_px(inside, px_per_pt, size_px))
        parts.append((block, tuple(words_of(text, inside, px_per_pt, size_px)), marked))
    return ParsedText.of(parts), tuple(marked for _, _, marked in parts)


def shown(spans: Sequence[Span]) -> list[Span]:
    """Returns the spans with text, letters that run to the left, raised figures and initials as they are read."""
    return with_initials(raised([span for span in in_reading_order(spans) if span.line.text]))


def words_of(text: str, spans: Iterable[Span], scale: float, size_px: tuple[int, int]) -> Iterator[Word]:
    """Yields the words of the spans' text, each with the box around its letters, inside the page.

    Of a word with letters at several heights, such as a raised figure, those of most count.
    """
    places, end = _places(spans), 0
    are_all = len(places) == sum(map(len, text.split()))  # not where letters of two spans became one
    for name in text.split():
        boxes, end = places[end : end + len(name)], end + len(name)
        if not are_all:
            yield Word(text=name)
            continue
        middle = median((y0 + y1) / 2 for _, y0, _, y1 in boxes)
        kept = [box for box in boxes if box[1] <= middle <= box[3]] or boxes
        x0, y0, x1, y1 = (round(edge * scale) for edge in hull(kept))
        clipped = max(0, x0), max(0, y0), min(size_px[0], x1), min(size_px[1], y1)
        has_area = clipped[0] < clipped[2] and clipped[1] < clipped[3]
        yield Word(text=name, box_px=clipped if has_area else None)


def _places(spans: Iterable[Span]) -> list[Box]:
    """Returns the boxes of the letters as the text has them: a ligature is several in one place, an accent none."""
    before, places = "", list[Box]()
    for glyph in (glyph for span in spans for glyph in span.glyphs):
        for letter in "".join(clean(glyph.text).split()):
            composed = unicodedata.normalize("NFC", before + letter)
            if len(composed) == len(before):
                before = composed
            else:
                places.append(glyph.box)
                before = letter
    return places


def _paragraph(lines: Sequence[Line], body: _Body, links: Sequence[Link]) -> tuple[str, str, str] | None:
    """Returns the label, text and markdown of a paragraph; None if it has no text."""
    spans = [span for line in lines for span in line]
    text = as_text([span.line for span in spans], body.break_gap)
    if not text:
        return None
    large = heading(text, min(span.line.size for span in spans), body.size)
    label = large or _label(lines, text, body)
    if label in _LEVELS:
        return label, text, layer_markdown.heading(text, _LEVELS[label] if large else _BOLD_LEVEL)
    if label == "code":
        return label, text, layer_markdown.code(text)
    return label, text, layer_markdown.paragraph(lines, links, body_is_bold=body.is_bold).strip()


def _parts(items: Iterable[Span | FilledTable], break_gap: float) -> Iterator[list[Line] | FilledTable]:
    """Yields the tables, and between them the paragraphs as lists of printed lines."""
    for is_table, group in groupby(items, key=lambda item: isinstance(item, FilledTable)):
        own: list[Any] = list(group)
        yield from own if is_table else _paragraphs(own, break_gap)


def _paragraphs(spans: Sequence[Span], break_gap: float) -> Iterator[list[Line]]:
    lines: list[Line] = [[spans[0]]]
    is_broken: list[bool] = []
    for before, span in pairwise(spans):
        # Lines in two directions are two paragraphs; each slanted line stands by itself.
        is_apart = before.turn_deg != span.turn_deg or span.turn_deg is None
        gap = _PARAGRAPH if is_apart else between(before.line, span.line, break_gap)
        if "\n" in gap:
            lines.append([span])
            is_broken.append(gap == _PARAGRAPH)
        else:
            lines[-1].append(span)
    first = 0
    for at, broken in enumerate([*is_broken, True], 1):
        if broken or _begins_anew(lines[at - 1], lines[at]):
            plain = [_plain(line) for line in lines[first:at]]
            for start, end, _ in Flow(plain, 0, len(plain)).ranges():
                yield lines[first + start : first + end]
            first = at


def _plain(line: Line) -> text_lines.Line:
    """Returns a printed line by its places alone; one that runs to the left as in a mirror."""
    x0, x1 = line[0].line.x0, max(span.line.x1 for span in line)
    first, last = line[0].chars[0].box, line[-1].chars[-1].box
    is_leftward = not line[0].is_turned and first[0] > last[0]
    return text_lines.Line(
        text=as_text([span.line for span in line]) or "_",  # nothing but spaces
        spans=((-x1, -min(span.line.x0 for span in line)) if is_leftward else (x0, x1),),
        base=line[0].line.base,
        size=_size(line),
        is_mono=_is_code(line),
    )


def _begins_anew(above: Line, line: Line) -> bool:
    """Returns whether a line is in another type than the one above it, like the text under a heading."""
    sizes = sorted((_size(above), _size(line)))
    if sizes[1] > _SAME_SIZE * sizes[0] or _is_code(above) != _is_code(line):
        return True
    return _is_bold(above) != _is_bold(line)


def _size(line: Line) -> float:
    return max(line, key=lambda span: len(span.glyphs)).line.size


def _is_bold(line: Line) -> bool:
    return all(span.is_bold for span in line if span.glyphs)


def _is_code(line: Line) -> bool:
    return all(span.is_monospaced for span in line if span.glyphs)


def _label(lines: Sequence[Line], text: str, body: _Body) -> str:
    if all(map(_is_code, lines)) and not body.is_monospaced:
        return "code"
    if BULLET.match(text):
        return "list"
    is_bold = not body.is_bold and all(map(_is_bold, lines)) and may_be_heading(text)
    is_short = len(text) <= _LONGEST_BOLD_TITLE and text.count("\t") < 2  # with more it is a table's head
    if is_bold and is_short and text[-1] not in ".,;:":
        return "sub_title"
    return "text"


def _box_px(group: Sequence[Span], scale: float, size_px: tuple[int, int]) -> tuple[int, int, int, int]:
    left, top, right, bottom = (edge * scale for edge in hull([span.box for span in group]))
    width, height = size_px
    x0, y0 = min(int(max(0.0, left)), width), min(int(max(0.0, top)), height)
    return x0, y0, max(min(round(right), width), x0), max(min(round(bottom), height), y0)
