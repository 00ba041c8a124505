"""Tables whose cells take several lines, in prose and in code, merged cells among them.

They are read row by row, cell after cell, as the text layer has them; a merged cell belongs to its first row.
"""

import html
import string
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle

from ocr.training.pages.matter.html_blocks import Block, Writer
from ocr.training.pages.tabular.tables import HEADS, captioned, style_of
from ocr.training.pages.words.naming import alike, stem

_RULES = ["none", "none", "none", "grid", "grid", "rows", "rows", "inner", "columns", "book"]
_LINES = ["1px solid #000", "1px solid #000", "1px solid #999", "1px solid #555", "2px solid #000"]
_MOST_CHARACTERS = 4200  # of a table, so that it fits the answer
_PADDING_PT = 13.0  # both sides of a cell, at most, with its rule
_BOLD = 1.15  # how much wider bold text is


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column. percent: of the table's width. room_pt: of one line of a cell. lines: of the longest cells, about.

    words: draws the words of a cell. code: set in the face of code. align: as in CSS.
    """

    percent: int
    room_pt: float
    lines: float
    words: Callable[[], list[str]]
    code: bool
    align: str


def wrapped(w: Writer) -> list[Block]:
    """Returns cells of one to four lines in two to six columns."""
    rng = w.rng
    scale = rng.choice([1.0, 1.0, 1.0, 0.9, 0.8])
    most = int(w.width_pt / (w.size_pt * scale * 6.5))
    columns = _columns(w, rng.randint(2, max(2, min(6, most))), scale)
    rows = _rows(w, columns, rng.randint(3, 14))
    head = [_fitted(w, w.words(1, 3), c.room_pt / _BOLD, 2, code=False) for c in columns]
    return captioned(w, _drawn(w, columns, head, rows, scale), share=0.2)


def _columns(w: Writer, count: int, scale: float) -> list[_Column]:
    rng = w.rng
    table_pt = w.width_pt / scale
    weights = [rng.choice([1.0, 1.0, 1.6, 2.4]) for _ in range(count)]
    least = 0.6 / count
    percents = [int(100 * max(least, x / sum(weights))) for x in weights]
    percents = [p * 100 // max(100, sum(percents)) for p in percents]
    centred = w.chance(0.15)
    names = cycle(alike(rng, 60))
    verbs = [stem(rng) for _ in range(rng.randint(2, 5))]
    options = ["-" + rng.choice(string.ascii_letters) for _ in range(3)] + [
        f"--{stem(rng)}" for _ in range(2)
    ]
    values = [w.value() if w.chance(0.5) else w.words(1, 2) for _ in range(3)]

    def command() -> list[str]:
        made = [
            rng.choice(verbs),
            *(rng.choice([*options, *verbs, "ALL", "|"]) for _ in range(rng.randint(0, 4))),
        ]
        return made if w.chance(0.7) else [*made[:-1], made[-1] + ";", rng.choice(verbs), rng.choice(options)]

    def listed() -> list[str]:
        return [f"{next(names, 'x')}," for _ in range(rng.randint(1, 4))] + [rng.choice(verbs)]

    def described() -> list[str]:
        words = html.unescape(w.words(1, 16)).split(" ")
        return [*words, f"({rng.choice(options)})"] if w.chance(0.15) else words

    kinds: list[tuple[Callable[[], list[str]], bool]] = [
        (lambda: [next(names)], True), (lambda: [next(names)], w.chance(0.5)), (command, True),
        (command, w.chance(0.7)), (listed, w.chance(0.4)), (lambda: [html.unescape(rng.choice(values))], False),
    ]  # fmt: skip
    chosen = [(described, False) if w.chance(0.5) else rng.choice(kinds) for _ in range(count)]
    chosen[-1 if w.chance(0.7) else rng.randrange(count)] = (described, False)
    return [
        _Column(
            percent=percent,
            room_pt=percent * table_pt / 100 - _PADDING_PT / scale,
            lines=rng.choice([0.8, 1.6, 2.6, 3.6]) if words in (described, command) else 2.0,
            words=words,
            code=code,
            align=rng.choice(["", "", "text-align:center"]) if centred else "",
        )
        for percent, (words, code) in zip(percents, chosen, strict=True)
    ]


def _fitted(w: Writer, words: list[str] | str, room_pt: float, lines: float, *, code: bool) -> str:
    """Returns as many of the words as fill about this many lines, each cut to the width of a line; escaped."""
    measure = w.measure_code if code else w.measure
    words = html.unescape(words).split(" ") if isinstance(words, str) else words
    kept: list[str] = []
    free = lines * room_pt
    for word in words:
        width = measure(html.escape(word))
        if width > room_pt:
            word = word[: max(1, int(len(word) * room_pt / width * 0.9))]
            width = room_pt
        free -= width + measure("n")
        if kept and free < 0:
            break
        kept.append(word)
    return html.escape(" ".join(kept))


def _rows(w: Writer, columns: list[_Column], count: int) -> list[list[str]]:
    """Returns the cells. Some tables repeat the cell above, or the one at the left, except for a word."""
    rng = w.rng
    repeats, twins = rng.choice([0.0, 0.0, 0.3, 0.7]), rng.choice([0.0, 0.0, 0.25])
    rows: list[list[str]] = []
    written = 0
    for _ in range(count):
        row: list[str] = []
        for number, column in enumerate(columns):
            words = column.words()
            if rows and rows[-1][number] and w.chance(repeats):
                words = html.unescape(rows[-1][number]).split(" ")
                words[rng.randrange(len(words))] = rng.choice(column.words())
            elif row and row[-1] and w.chance(twins):
                words = html.unescape(row[-1]).split(" ")
            empty = number > 0 and w.chance(0.04)
            row.append("" if empty else _fitted(w, words, column.room_pt, column.lines, code=column.code))
        rows.append(row)
        written += sum(map(len, row)) + 4 * len(row)
        if written > _MOST_CHARACTERS:
            break
    return rows


def _spans(w: Writer, count: int, *, grouped: bool) -> list[int]:
    """Returns how many rows the first cell of each row spans; 0 if one above covers it."""
    spans: list[int] = []
    while len(spans) < count:
        span = w.rng.randint(2, 4) if grouped and w.chance(0.5) else 1
        span = min(span, count - len(spans))
        spans += [span, *[0] * (span - 1)]
    return spans


def _drawn(w: Writer, columns: list[_Column], head: list[str], rows: list[list[str]], scale: float) -> Block:
    """Returns the table's HTML."""
    rng = w.rng
    kind, line = rng.choice(_RULES), rng.choice(_LINES)
    upright = rng.choice(["top", "top", "middle", "middle", "bottom" if kind == "grid" else "top"])
    common = (
        f"vertical-align:{upright}",
        "hyphens:auto" if w.chance(0.15) else "",
        rng.choice(["", "", "", "padding:1px 4px"]),
    )
    sections = w.chance(0.2)
    clear = kind in ("grid", "rows", "inner") or upright == "top"  # shows where a merged cell belongs
    spans = _spans(w, len(rows), grouped=clear and w.chance(0.3))
    made = []
    if w.chance(0.85):
        face = (*common, rng.choice(HEADS), "text-align:left")
        titles = (
            _cell(column, text, _edge(kind, line, i, head=True), face)
            for i, (column, text) in enumerate(zip(columns, head, strict=True))
        )
        made = ["".join(titles)]
    section = rng.choice(
        ["font-weight:bold", "font-style:italic", "text-align:center", "background-color:#eee"]
    )
    for number, (row, span) in enumerate(zip(rows, spans, strict=True)):
        if sections and span and w.chance(0.2):
            text = _fitted(w, w.words(1, 6), 0.6 * w.width_pt / scale, 1, code=False)
            css = style_of(_edge(kind, line, 0), section)
            made.append(f"<td colspan={len(columns)}{css}>{text}</td>")
        cells = []
        for i, (column, text) in enumerate(zip(columns, row, strict=True)):
            height = 1 if i else span
            if height:
                edge = _edge(kind, line, i, last=number + height == len(rows))
                shown = f"<code>{text}</code>" if column.code and text else text
                cells.append(_cell(column, shown, edge, common, height))
        made.append("".join(cells))
    collapse = "border-collapse:collapse" if kind != "none" and w.chance(0.85) else ""
    css = style_of("width:100%", collapse, f"font-size:{scale}em" if scale < 1 else "")
    name = w.element()
    rows_made = "".join(f"<tr>{cells}</tr>" for cells in made)
    return Block(kind="table", html=f"<table id={name}{css}>{rows_made}</table>", element=name)


def _cell(column: _Column, text: str, edge: str, common: tuple[str, ...], height: int = 1) -> str:
    css = style_of(edge, column.align, f"width:{column.percent}%", *common)
    return f"<td{f' rowspan={height}' if height > 1 else ''}{css}>{text}</td>"


def _edge(kind: str, line: str, column: int, *, head: bool = False, last: bool = False) -> str:
    """Returns the rules at the sides of a cell. head, last: whether it is in the head, or in the last row."""
    left = ["left"] if column else []
    below = ["bottom"] if last else []
    sides = {
        "grid": ["left", "right", "top", "bottom"],
        "rows": ["top", *below],
        "inner": ["top", *below, *left],
        "columns": left,
        "book": ["top", "bottom"] if head else below,
        "none": [],
    }[kind]
    return ";".join(f"border-{side}:{line}" for side in sides)
