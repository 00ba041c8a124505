"""Turns the lines read on a page into its text: in reading order, in paragraphs, with headings and tables.

Torch-free. Conventions are the page model's: printed lines stay lines, hyphens at their ends stay, a blank line stands
between blocks, a table's row is one line, with tabs between its cells. Only headings differ between text and markdown.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from math import inf
from operator import itemgetter
from statistics import median
from typing import TypeVar

import numpy as np

from ocr.line_reader.found_lines import Box, Ints, LineWord, ReadLine, TurnedLines
from ocr.line_reader.levelling import View
from ocr.line_reader.named_tables import NamedRow, aligned_runs, aligned_white, has_value, named_table
from ocr.line_reader.program_lines import character_px, fits, is_program, whole_lines
from ocr.line_reader.reading_order import in_reading_order
from ocr.line_reader.structure_network import ROLES, TABULAR
from ocr.paragraphs import table_markup
from ocr.paragraphs.flow import ranges
from ocr.paragraphs.grid_tables import tables_in_grids
from ocr.paragraphs.line_kinds import may_be_heading
from ocr.paragraphs.line_tables import Cell, Rule, Table, table_without_rules
from ocr.paragraphs.table_ranges import table_ranges
from ocr.paragraphs.text_lines import PART_GAP, Line, Span, parted
from ocr.types import Block, ParsedText, Word

Part = TypeVar("Part", Block, Word)
Size = tuple[float, float] | None
_Filled = tuple[str, str, list[Word], Table]  # a table's text, its markdown, its words and its cells

_BREAK_GAP = 1.75  # in type sizes: a blank line in the truth that the page model learned from
_ONE_COLUMN = 0.1  # of the narrower line: lines that share less are of two columns
_NEW, _HEAD = 1.08, 1.15  # how much larger type is of another block, and of another heading right below one
# What the network calls lines that are no running text, and what a block of them is called.
_LABELS = {
    "title": "title", "heading 1": "sub_title", "heading 2": "sub_title", "heading 3": "sub_title",
    "caption": "figure_caption", "footnote": "footnote", "margin note": "aside_text",
    "page header": "page_header", "page footer": "page_footer", "page number": "page_number",
}  # fmt: skip
_LEVELS = {"title": "# ", "sub_title": "## "}
_LEAST_CONFIDENCE, _FEW_LINES = 0.5, 3
_FILLED, _LONGEST = 0.3, 600  # least share of cells with text; most characters in one
# White between cells of typewritten lines is wider than a blank and the room around it, in characters; words that tell
# their width have so many, and are so many, as wide as most up to this share. Smaller type is of its own column, as are
# labels, up to which ink of the words before them may go on.
_BLANK, _WORD_LENGTH, _FEW_WORDS, _SAME, _MOSTLY, _SMALLER = 1.8, 5, 5, 0.06, 0.8, 0.88
_CODE, _EMPTY_LINE = "code", 1.6  # how much further apart lines are with an empty one between
_WORD = re.compile(r"[^\W\d_]{3}|\d\D?\d")


@dataclass(frozen=True, slots=True)
class Row:
    """Lines that stand beside each other, from left to right, the same as a line of a block, and what they are.

    flat, level: both as they would stand on a page that lies level. grid: the number of the printed grid around it, -1
    outside. table: the number of the table that the network sees there, -1 outside. places: of each cell's line, the
    row and the column that it sees.
    """

    cells: Sequence[ReadLine]
    flat: Sequence[ReadLine]
    line: Line
    level: Line
    label: str
    grid: int
    table: int
    places: Sequence[tuple[int, int]]


def page_text(
    lines: Sequence[ReadLine],
    turned: Sequence[TurnedLines] = (),
    rules: Sequence[Rule] = (),
    uprights: Sequence[Box] = (),
    size_px: Size = None,
) -> ParsedText:
    """Returns the text of a page's lines, which may come in any order, with its blocks; boxes in the lines' pixels.

    turned: lines on it that do not run from left to right; those of one direction come behind what stands above their
    lower end. rules, uprights: those of the page in either direction. size_px: its width and height, None where they
    are not known.
    """
    parts = list(page_parts(lines, rules, uprights, size_px))
    for own in turned:
        foot = max(box[3] for box in own.boxes)
        above = (n for n, (it, *_) in enumerate(parts, 1) if it.box_px and sum(it.box_px[1::2]) < 2 * foot)
        at = max(above, default=0)
        parts[at:at] = [
            (_placed(block, own), [_placed(word, own) for word in words], marked)
            for block, words, marked in page_parts(own.lines)
        ]
    return ParsedText.of(parts)


def page_parts(
    lines: Sequence[ReadLine], rules: Sequence[Rule] = (), uprights: Sequence[Box] = (), size_px: Size = None
) -> Iterator[tuple[Block, list[Word], str]]:
    """Yields the blocks of lines in reading order, each with its words and its markdown."""
    char_px, rows, tables = arranged(lines, rules, uprights, size_px)
    level = [replace(row.line, base=row.level.base) for row in rows]
    found = list(_labelled(ranges(level, list(tables)), rows))
    above = 0  # where the block above begins
    for start, end, label in _with_programs(found, rows, char_px) if char_px else found:
        part, closing, above = rows[start:end], start - above == 1 and level[above].text.endswith(","), start
        block = _block(part, "text" if closing and label in _LEVELS else label)  # no name of who signs
        words = [_word(cell, word) for row in part for cell in row.cells for word in cell.words]
        white = table_without_rules([row.level for row in part]) if label == "table" else ()
        if filled := tables.get((start, end)) or (_filled(white, part) if white else None):
            text, marked, placed, _ = filled
            yield replace(block, text=text), placed, marked
            continue
        if label == _CODE:
            block = replace(block, text=_program(part, char_px))
        yield block, words, _markdown(block)


def arranged(
    lines: Sequence[ReadLine], rules: Sequence[Rule], uprights: Sequence[Box], size_px: Size
) -> tuple[float, list[Row], dict[tuple[int, int], _Filled]]:
    """Returns the width of a character of a page's programs, its rows in order, and its tables by ranges of them."""
    kept = lines_of_text(lines)
    char_px = character_px(kept)
    reads = whole_lines(kept, char_px)
    level, rules, uprights = _levelled(reads, rules, uprights)
    grids = tables_in_grids([_line([read], 0) for read in level], rules, uprights)
    boxes = [*((rule.x0, rule.y, rule.x1, rule.y) for rule in rules if not rule.is_edge), *uprights]
    rows = _rows(reads, level, _grids_of(level, grids), size_px, boxes)
    return char_px, rows, _tables(rows, grids)


def _labelled(found: Iterable[tuple[int, int, str]], rows: Sequence[Row]) -> Iterator[tuple[int, int, str]]:
    """Yields the blocks, those of text parted where headings, captions, notes and furniture begin and end."""
    for start, end, label in found:
        labels = [row.label if label == "text" else label for row in rows[start:end]]
        for own, numbers in groupby(range(start, end), key=lambda number: labels[number - start]):
            part = list(numbers)
            yield part[0], part[-1] + 1, own


def _tables(rows: Sequence[Row], grids: Sequence[Table]) -> dict[tuple[int, int], _Filled]:
    """Returns the tables by the ranges [start, end) of their rows: in grids, as the network sees, and lists.

    Last come grids without columns, as where rules between cells are too short to be seen.
    """
    printed = (([n for n, row in enumerate(rows) if row.grid == at], grid) for at, grid in enumerate(grids))
    named = groupby(range(len(rows)), key=lambda n: rows[n].table)
    candidates = [
        *(((own[0], own[-1] + 1), grid) for own, grid in printed if own and _is_one(own, rows, grid)),
        *_named([list(numbers) for at, numbers in named if at >= 0], rows),
        *_named(_listed(rows), rows),
    ]
    found: dict[tuple[int, int], _Filled] = {}
    for (start, end), table in sorted(candidates, key=lambda each: not any(cell.column for cell in each[1])):
        is_free = all(end <= first or after <= start for first, after in found)
        if table and is_free and (filled := _filled(table, rows[start:end])):
            found[start, end] = filled
    return found


def _is_one(numbers: Sequence[int], rows: Sequence[Row], grid: Table) -> bool:
    """Returns whether a printed grid is one table: what the network sees as several has its columns in one place."""
    groups = groupby((rows[n] for n in numbers), key=lambda row: row.table)
    several = (ys for at, own in groups if len(ys := [row.level.base for row in own]) > 1 and at >= 0)
    starts = [{c.column for c in grid if any(c.box[1] < y <= c.box[3] for y in ys)} for ys in several]
    return all(a <= b or b <= a for a, b in pairwise(starts))


def _named(groups: Iterable[Sequence[int]], rows: Sequence[Row]) -> Iterator[tuple[tuple[int, int], Table]]:
    """Yields tables with the ranges [start, end) of their rows. groups: numbers of rows."""
    for own in groups:
        cells = [cell for n in own for cell in rows[n].flat]
        gap = max(PART_GAP, _BLANK * _typewritten(cells))
        aligned = aligned_white([rows[n].level for n in own], [_placed_words(rows[n]) for n in own])
        named = []
        for row in (rows[n] for n in own):
            least = _SMALLER * max(cell.line.size for cell in row.flat)
            small = [cell.line.size < least for cell in row.flat]
            placed = zip(row.flat, row.places, small, [*small[1:], False], strict=True)
            parts = [
                (part, 2 * at + is_small)
                for cell, (_, at), is_small, is_before in placed
                for part in _parts_of(cell, gap, aligned, cell.line.right if is_before else inf)
            ]
            line = replace(row.level, parts=tuple(part for part, _ in parts))
            seen = {number for number, _ in row.places if number >= 0}
            told = has_value(line, _placed_words(row))
            named.append(NamedRow(line=line, rows=seen, columns=[at for _, at in parts], has_value=told))
        yield (own[0], own[-1] + 1), named_table(named, aligned)


def _listed(rows: Sequence[Row]) -> Iterator[Sequence[int]]:
    """Yields the numbers of rows that are a table though neither rules nor the network say so, nor more white."""
    white = list[range]()  # that tells of tables: what cannot be filled tells of typewritten ones alone
    for start, end in table_ranges([row.line for row in rows]):
        part, flat = rows[start:end], [cell for row in rows[start:end] for cell in row.flat]
        told = table_without_rules([row.level for row in part])
        white += [range(start, end)] if told and (_typewritten(flat) or _filled(told, part)) else []
    is_text = [row.grid < 0 and row.table < 0 and row.label == "text" for row in rows]
    groups = groupby(range(len(rows)), is_text.__getitem__)
    for own in (list(numbers) for usable, numbers in groups if usable):
        width = _typewritten([cell for n in own for cell in rows[n].flat])
        levels, words = [rows[n].level for n in own], [_placed_words(rows[n]) for n in own]
        for start, end in aligned_runs(levels, words, _BLANK * width):
            run = own[start:end]
            is_larger = all(len(run) > len(other) or not set(run) & set(other) for other in white)
            if is_larger and not (width and is_program([level.text for level in levels[start:end]])):
                yield run


def _placed_words(row: Row) -> list[tuple[Span, str]]:
    return [((word.left, word.right), word.text) for cell in row.flat for word in cell.words]


def _typewritten(cells: Sequence[ReadLine]) -> float:
    """Returns the width of a character of type of one width, in type sizes; 0 for other type.

    Figures have one width in most type, so that words tell.
    """
    words = [
        (word.right - word.left) / len(word.text) / cell.line.size
        for cell in cells
        for word in cell.words
        if len(word.text) >= _WORD_LENGTH and word.text.isalpha()
    ]
    usual = median(words or [0.0])
    alike = sum(abs(width - usual) < _SAME * usual for width in words)
    return usual if len(words) >= _FEW_WORDS and alike >= _MOSTLY * len(words) else 0.0


def _levelled(
    reads: Sequence[ReadLine], rules: Sequence[Rule], uprights: Sequence[Box]
) -> tuple[list[ReadLine], Sequence[Rule], Sequence[Box]]:
    """Returns the lines and rules as they would stand on a page that lies level."""
    view = View.of([read.line for read in reads])

    def levelled(read: ReadLine) -> ReadLine:
        line = view.levelled(read.line)
        aside = line.left - read.line.left
        words = (it._replace(left=it.left + aside, right=it.right + aside) for it in read.words)
        return replace(read, line=line, words=tuple(words) if aside else read.words)

    boxes = (view.levelled_box((rule.x0, rule.y, rule.x1, rule.y)) for rule in rules)
    return (
        [levelled(read) for read in reads],
        [replace(it, x0=a, x1=c, y=(b + d) / 2) for it, (a, b, c, d) in zip(rules, boxes, strict=True)],
        [view.levelled_box(box) for box in uprights],
    )


def _grids_of(level: Sequence[ReadLine], grids: Sequence[Table]) -> Ints:
    """Returns [N] the number of the grid in which each line begins, -1 outside.

    A grid around running text is a frame, and none here.
    """
    found, first = np.full(len(level), -1), [read.words[0] if read.words else read.line for read in level]
    for number, grid in enumerate(grids):
        for x0, top, x1, bottom in (cell.box for cell in grid):
            rows = (n for n, read in enumerate(level) if top < read.line.middle <= bottom)
            own = [n for n in rows if x0 <= (first[n].left + first[n].right) / 2 < x1]
            found[own] = number
            if sum(len(level[n].text) for n in own) > _LONGEST:
                found[found == number] = -1
                break
    return found


def _filled(table: Table, rows: Sequence[Row]) -> _Filled | None:
    """Returns the text of a table, its markdown and its words, cell by cell; None if words stand outside its cells.

    Nor is a frame around text a table, or a form that is mostly empty. Its cells are as on a page that lies level.
    """
    placed = [
        ((flat.left + flat.right) / 2, row.level.base, _word(read, word))
        for row in rows
        for read, level in zip(row.cells, row.flat, strict=True)
        for word, flat in zip(read.words, level.words, strict=True)
    ]
    words, last = list[Word](), max(cell.row for cell in table)
    written = [list[tuple[Cell, str]]() for _ in range(last + 1)]
    for cell in table:
        x0, top, x1, bottom = cell.box
        own = [word for x, y, word in placed if x0 <= x < x1 and top <= y < bottom]
        written[cell.row].append((cell, " ".join(word.text for word in own)))
        words += own
    written = list(filter(None, written))  # a row may hold nothing but cells from above
    lengths = [len(text) for row in written for _, text in row if text]
    if len(words) != len(placed) or len(lengths) < max(2, _FILLED * len(table)) or max(lengths) > _LONGEST:
        return None
    is_list = rows[0].grid < 0 and table_markup.is_list(written)
    if max(map(len, written)) < 2 or is_list or table_markup.is_contents(written):
        return None
    headed = table_markup.with_head(written)
    return table_markup.as_text(headed), table_markup.as_markdown(headed), words, table


def _with_programs(
    found: Sequence[tuple[int, int, str]], rows: Sequence[Row], char_px: float
) -> Iterator[tuple[int, int, str]]:
    """Yields the blocks, those of a program as one. char_px: as wide is a character of its type."""
    fit = [fits(row.line.text, row.line.x1 - row.line.x0, char_px) for row in rows]
    is_code = [all(fit[a:b]) and is_program([row.line.text for row in rows[a:b]]) for a, b, _ in found]
    for at in (*range(1, len(found)), *range(len(found) - 2, -1, -1)):  # parts of one without signs
        a, b, _ = found[at]
        is_code[at] |= all(fit[a:b]) and any(is_code[max(0, at - 1) : at + 2])
    for code, group in groupby(zip(found, is_code, strict=True), key=itemgetter(1)):
        own = [block for block, _ in group]
        yield from [(own[0][0], own[-1][1], _CODE)] if code else own


def _program(rows: Sequence[Row], char_px: float) -> str:
    """Returns the lines of a program as they are indented, with the empty ones between."""
    left = min(row.line.x0 for row in rows)
    lines = [" " * round((row.line.x0 - left) / char_px) + row.line.text for row in rows]
    drops = [below.line.base - above.line.base for above, below in pairwise(rows)]
    usual = median(drops) if drops else 0.0
    ends = ["\n\n" if drop > _EMPTY_LINE * usual else "\n" for drop in drops]
    return "".join(map("".join, zip(lines, [*ends, ""], strict=True)))


def _placed(part: Part, turned: TurnedLines) -> Part:
    """Returns a block or a word of turned lines with its box on the page as it stands."""
    assert part.box_px is not None, "what was read has a place"
    x0, y0, x1, y1 = (max(0, round(edge)) for edge in turned.as_it_stands(part.box_px))
    return replace(part, box_px=(x0, y0, x1, y1))


def _word(read: ReadLine, word: LineWord) -> Word:
    x0, y0, x1, y1 = read.line.box_of(word)
    left, top = max(0, round(x0)), max(0, round(y0))
    box = (left, top, max(left + 1, round(x1)), round(y1))
    return Word(text=word.text, box_px=box, confidence=word.confidence)


def lines_of_text(lines: Sequence[ReadLine]) -> list[ReadLine]:
    """Returns the lines that belong into the text, in the order given: none of a picture taken for text.

    A page with more than a few lines and neither a word nor a number among them is a picture.
    """
    kept = [read for read in lines if read.text.strip() and read.confidence > _LEAST_CONFIDENCE]
    return kept if len(kept) <= _FEW_LINES or any(_WORD.search(read.text) for read in kept) else []


def _rows(
    reads: Sequence[ReadLine], level: Sequence[ReadLine], grids: Ints, size_px: Size, rules: Sequence[Box]
) -> list[Row]:
    """Returns the rows of the page in reading order. Those without a gap or a jump between have one block's number."""
    rows: list[Row] = []
    block, number_of = 0, {id(read): number for number, read in enumerate(reads)}
    units = in_reading_order(reads, size_px, level=[read.line for read in level], rules=rules)
    for at, unit in enumerate(units):
        label, table = _LABELS.get(unit.role, "text"), at if unit.role == ROLES[TABULAR[0]] else -1
        for own, places in zip(unit.rows, unit.cells, strict=True):
            numbers = [number_of[id(read)] for read in own]
            line, flat, grid = _line(own, block), [level[n] for n in numbers], int(grids[numbers[0]])
            alike = _NEW if own is unit.rows[0] else _HEAD if label in _LEVELS else inf
            block += bool(rows) and _is_apart(rows[-1].line, line, alike)
            line = replace(line, block=block)
            rows.append(Row(own, flat, line, _line(flat, block), label, grid, table, places))
    return rows


def _line(cells: Sequence[ReadLine], block: int) -> Line:
    text = " ".join(cell.text.strip() for cell in cells)
    return Line(
        block=block,
        text=text,
        spans=tuple((float(cell.line.left), float(cell.line.right)) for cell in cells),
        parts=tuple(part for cell in cells for part in _parts_of(cell)),
        base=median(cell.line.middle for cell in cells),
        size=median(cell.line.size for cell in cells),
    )


def _parts_of(
    cell: ReadLine, gap: float = PART_GAP, aligned: Sequence[float] = (), end: float = inf
) -> tuple[Span, ...]:
    """Returns what of a line stands between white that may be between cells: wider than gap, in type sizes.

    aligned: where it is between cells however wide. end: its words end there at the latest.
    """
    words = [(word.left, min(word.right, end)) for word in cell.words]
    between = [x for x in aligned if not any(left < x < right for left, right in words)]
    sides = groupby(words, key=lambda word: sum(x < word[0] for x in between))
    parts = tuple(part for _, own in sides for part in parted(own, gap * cell.line.size))
    return parts or ((float(cell.line.left), float(cell.line.right)),)


def _is_apart(above: Line, below: Line, alike: float) -> bool:
    """Returns whether a block ends between lines. alike: how many times as large as the other one's type may be."""
    shared = min(above.x1, below.x1) - max(above.x0, below.x0)
    narrower = min(above.x1 - above.x0, below.x1 - below.x0)
    small, large = sorted((above.size, below.size))
    drop = below.base - above.base
    return shared < _ONE_COLUMN * narrower or not 0 < drop < _BREAK_GAP * large or large > alike * small


def _block(rows: Sequence[Row], label: str) -> Block:
    text = "\n".join(row.line.text for row in rows)
    cells = [cell for row in rows for cell in row.cells]
    x0, y0, x1, y1 = zip(*(cell.line.box for cell in cells), strict=True)
    lengths = [len(cell.text) for cell in cells]
    label = "text" if label in _LEVELS and not may_be_heading(text) else label
    return Block(
        label=label,
        text=text,
        box_px=(max(0, int(min(x0))), max(0, int(min(y0))), round(max(x1)), round(max(y1))),
        confidence=float(np.average([cell.confidence for cell in cells], weights=lengths)),
    )


def _markdown(block: Block) -> str:
    if block.label == _CODE:
        fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall("`+", block.text)), 0)
        return f"{fence}\n{block.text}\n{fence}"
    return _LEVELS[block.label] + " ".join(block.text.split()) if block.label in _LEVELS else block.text
