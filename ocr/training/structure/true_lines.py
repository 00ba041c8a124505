"""Lines of composed pages with the truth of their structure: their order, blocks, roles and cells. Nothing is drawn.

The markup of a page says what its characters are, its text layer where they are; both have the same order, so that they
are matched character by character. What only one has (marks of lists, hyphens, text without room) is passed over.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser

import pymupdf

from ocr.line_reader.structure_network import ROLES
from ocr.training.pages.page_truth import Sheet, UnreadableError, clean, layer_lines

# Roles of all that a maker writes, unless a tag says otherwise; makers that are not named here write text.
_MAKERS = {
    "contents": "contents", "code": "code", "shell": "code", "slip": "form", "form": "form", "keyed": "form",
    "header": "page header", "footer": "page footer", "footnotes": "footnote", "margin_note": "margin note",
    "display": "formula", "large_print": "title", "table": "text", "title": "text",
}  # fmt: skip
_WHOLE = frozenset(
    {"contents", "code", "shell", "slip", "form", "display", "header", "footer", "margin_note"}
)
_ITEM = re.compile(r"item\d")
_NUMBER = re.compile(r"(?:Page )?[–\[]? ?(?:[ivx]+|\d+(?: ?[/-] ?\d+)?) ?[–\]]?")
_Char = tuple[str, tuple[float, ...]]
_RESYNC, _AHEAD = 8, 6000  # characters that must agree after a gap, and how far ahead they are looked for
_MATCHED = 0.95  # of a page's characters
Box = tuple[float, float, float, float]
_VECTOR, _COLOR = 3, re.compile(r"color: #(\w\w)")
# Rules are as dark at least and as thick at most; pieces so near are one.
_DARK, _THICK_PT, _MEET_PT = 0xB0, 3.5, 2.5


@dataclass(frozen=True, slots=True)
class Place:
    """Where a character stands in the structure of its page.

    block: a number of its block. role: an index of ROLES. table: a number of its table, -1 outside tables; rows,
    columns: [first, last] of its cell there.
    """

    block: int
    role: int
    table: int = -1
    rows: tuple[int, int] = (0, 0)
    columns: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueLine:
    """A line as a finder might find it. x0, x1, base, size: in points, base its baseline's height in the middle.

    words: their ends, [x0, x1] each. order: its place in the order of reading.
    """

    text: str
    x0: float
    x1: float
    base: float
    size: float
    words: tuple[tuple[float, float], ...]
    place: Place
    order: int


@dataclass(slots=True)
class _Grid:
    """A table being read. covered: the columns that cells of rows above go over, with the rows that remain."""

    number: int
    row: int = -1
    column: int = 0
    covered: dict[int, int] = field(default_factory=dict)


class _Markup(HTMLParser):
    """Reads markup into characters without white, each with its place."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.places = list[str](), list[Place]()
        self._blocks, self._tables = 0, 0
        self._maker = ""
        self._grid: _Grid | None = None
        self._place = Place(0, 0)
        self._outer = list[tuple[str, Place]]()
        self.feed(markup)
        self.close()

    def handle_comment(self, data: str) -> None:
        self._maker, self._blocks = data, self._blocks + 1
        self._outer.clear()
        self._place = Place(self._blocks, ROLES.index(_MAKERS.get(data, "text")))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("br", "img", "hr"):
            return
        self._outer.append((tag, self._place))
        found = {name: value or "" for name, value in attrs}
        kinds = found.get("class", "").split()
        role = ROLES[self._place.role]
        if tag == "table" and "plain" not in kinds and self._maker != "boxed":
            self._tables += 1
            self._grid = _Grid(self._tables, row=0 if "headless" in kinds else -1)
            self._set("table cell")
        elif tag == "tr" and self._grid:
            grid = self._grid
            grid.row, grid.column = grid.row + 1, 0
            grid.covered = {column: rows - 1 for column, rows in grid.covered.items() if rows > 1}
        elif tag in ("td", "th") and self._grid:
            self._cell(int(found.get("rowspan", 1)), int(found.get("colspan", 1)))
        elif tag[0] == "h" and tag[1:].isdigit():
            self._set("title" if self._maker == "title" else f"heading {min(3, int(tag[1:]))}")
        elif tag == "li" or any(map(_ITEM.fullmatch, kinds)):
            self._set("list item")
        elif "caption" in kinds:
            self._set("caption")
        elif tag in ("p", "pre", "td") and self._maker not in _WHOLE:
            self._set(role)

    def _set(self, role: str) -> None:
        self._blocks += 1
        self._place = Place(self._blocks, ROLES.index(role))

    def _cell(self, rows: int, columns: int) -> None:
        grid = self._grid
        assert grid is not None, "a cell stands in a table"
        while grid.column in grid.covered:
            grid.column += 1
        last = grid.column + columns - 1
        if rows > 1:
            grid.covered.update(dict.fromkeys(range(grid.column, last + 1), rows))
        self._place = replace(
            self._place,
            role=ROLES.index("table cell" if grid.row else "table head"),
            table=grid.number,
            rows=(grid.row, grid.row + rows - 1),
            columns=(grid.column, last),
        )
        grid.column = last + 1

    def handle_endtag(self, tag: str) -> None:
        while self._outer:
            opened, place = self._outer.pop()
            self._place = place
            if opened == tag:
                break
        if tag == "table":
            self._grid = None

    def handle_data(self, data: str) -> None:
        for mark in data:
            for char in clean(mark):
                if not char.isspace() and char != "\u200b":
                    self.text.append(char)
                    self.places.append(self._place)


def true_lines(sheet: Sheet) -> list[TrueLine]:
    """Returns the lines of a sheet's text layer in reading order, parted where the layer does, and between cells.

    Raises: UnreadableError where its characters are not those of its markup.
    """
    layer = [
        ([(clean(mark), box) for mark, box in chars], base, size)
        for chars, base, size, *_ in layer_lines(sheet)
    ]
    found = _Markup(sheet.markup)
    shown = [char for chars, *_ in layer for mark, _ in chars for char in mark if not char.isspace()]
    places = iter(_matched("".join(shown), "".join(found.text), found.places))
    lines: list[TrueLine] = []
    for chars, base, size in layer:
        for part, known in _cells(chars, places):
            words = tuple(_words(part))
            if not known or not words:
                continue
            place = max(set(known), key=known.count)
            text = " ".join("".join(mark for mark, _ in part).split())
            if ROLES[place.role] in ("page header", "page footer") and _NUMBER.fullmatch(text):
                place = replace(place, role=ROLES.index("page number"))
            ends = {"x0": words[0][0], "x1": words[-1][1], "base": base, "size": size}
            lines.append(TrueLine(text=text, words=words, place=place, order=len(lines), **ends))
    return lines


def true_rules(sheet: Sheet) -> list[Box]:
    """Returns the boxes of the rules on a sheet, those that meet end to end as one."""
    vectors = pymupdf.TextPage(sheet.display.get_textpage(pymupdf.TEXT_COLLECT_VECTORS)).extractBLOCKS()
    return joined(
        (x0, y0, x1, y1)
        for x0, y0, x1, y1, said, _, kind in vectors
        if kind == _VECTOR
        and min(x1 - x0, y1 - y0) < _THICK_PT < max(x1 - x0, y1 - y0)
        and int(_COLOR.findall(said)[0], 16) < _DARK
    )


def joined(rules: Iterable[Box]) -> list[Box]:
    """Returns rules, those that meet end to end as one."""
    boxes, found = list(rules), list[list[float]]()
    for axis in (0, 1):  # across, down
        own = [box for box in boxes if (box[3] - box[1] > box[2] - box[0]) == (axis == 1)]
        last = [-math.inf] * 4
        for box in sorted(own, key=lambda box: (round(box[1 - axis]), box[axis])):
            if abs(box[1 - axis] - last[1 - axis]) < _MEET_PT and box[axis] < last[axis + 2] + _MEET_PT:
                last[axis + 2] = max(last[axis + 2], box[axis + 2])
            else:
                found.append(last := list(box))
    return [(x0, y0, x1, y1) for x0, y0, x1, y1 in found]


def _cells(
    chars: Sequence[_Char], places: Iterator[Place | None]
) -> Iterator[tuple[list[_Char], list[Place]]]:
    """Yields the parts of a line that stand in different cells, each with the places of its characters."""
    part, known = list[_Char](), list[Place]()
    for mark, box in chars:
        for _ in range(sum(not char.isspace() for char in mark)):
            place = next(places)
            if place is None:
                continue
            if known and place.table >= 0 and place != known[-1]:
                yield part, known
                part, known = [], []
            known.append(place)
        part.append((mark, box))
    yield part, known


def _words(chars: Sequence[_Char]) -> Iterator[tuple[float, float]]:
    """Yields the ends of words."""
    own: tuple[float, float] | None = None
    for mark, (x0, _, x1, _) in chars:
        if mark.isspace() or not mark:
            if own:
                yield own
            own = None
        else:
            own = (min(own[0], x0), max(own[1], x1)) if own else (x0, x1)
    if own:
        yield own


def _matched(shown: str, written: str, places: Sequence[Place]) -> list[Place | None]:
    """Returns for each character of the text layer its place; None where the markup has no such character."""
    found: list[Place | None] = []
    at = 0
    for number, char in enumerate(shown):
        if at < len(written) and written[at] == char:
            found.append(places[at])
            at += 1
            continue
        key = shown[number : number + _RESYNC]
        ahead = written.find(key, at, at + _AHEAD) if len(key) == _RESYNC else -1
        found.append(places[ahead] if ahead >= 0 else None)
        at = ahead + 1 if ahead >= 0 else at
    if sum(place is not None for place in found) < _MATCHED * len(found):
        raise UnreadableError("the text layer is not that of the markup")
    return found
