"""Finds the tables of a page's markdown: those written as HTML, as models write them, and those with bars."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html.parser import HTMLParser

_TAG = re.compile(r"<(/?)table(?:\s[^<>]{0,200})?>", re.IGNORECASE)
# More is no page's table, and a page must not be able to make one file of gigabytes.
_MAX_SPAN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell. text: markdown, or plain text. num_columns, num_rows: how far it spans."""

    text: str
    is_heading: bool = False
    num_columns: int = 1
    num_rows: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table: its rows, each with the cells that begin in it, and its caption, "" if it has none."""

    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    def placed(self) -> list[tuple[int, int, Cell]]:
        """Returns (row, column, cell), both from 0, with room left for cells that span."""
        found = []
        taken: dict[int, int] = {}  # column -> first row that is free again
        for number, row in enumerate(self.rows):
            column = 0
            for cell in row:
                while taken.get(column, 0) > number:
                    column += 1
                found.append((number, column, cell))
                for over in range(column, column + cell.num_columns):
                    taken[over] = number + cell.num_rows
                column += cell.num_columns
        return found

    def grid(self) -> list[list[str]]:
        """Returns the texts in rows of equal length; a cell that spans has its text in its first place alone."""
        places = self.placed()
        width = max((column + cell.num_columns for _, column, cell in places), default=0)
        rows = [[""] * width for _ in self.rows]
        for row, column, cell in places:
            rows[row][column] = cell.text
        return rows


def parts(markdown: str) -> Iterator[str | Table]:
    """Yields the markdown between HTML tables as it is, and the tables; one within another is part of its cell's text.

    A table that is cut off ends with the text. Never raises.
    """
    at = start = depth = 0
    for tag in _TAG.finditer(markdown):
        if not tag[1]:
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield from filter(None, (markdown[at:start],))
                yield _parsed(markdown[start : tag.end()])
                at = tag.end()
    if depth:
        yield from filter(None, (markdown[at:start],))
        yield _parsed(markdown[start:])
    elif at < len(markdown):
        yield markdown[at:]


def _parsed(html: str) -> Table:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.end_cell()
    rows = tuple(tuple(row) for row in reader.rows if row)
    return Table(rows=rows, caption=" ".join("".join(reader.caption).split()))


class _Reader(HTMLParser):
    """Reads one table. Tags that are no table's are text, as the document wrote them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[Cell]] = []
        self.caption: list[str] = []
        self._cell: Cell | None = None  # the open one, whose text comes in pieces
        self._text: list[str] = []
        self._in_caption = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.end_cell()
            self.rows.append([])
        elif tag in ("td", "th"):
            self.end_cell()
            columns, rows = (_span(dict(attrs).get(name)) for name in ("colspan", "rowspan"))
            self._cell = Cell(text="", is_heading=tag == "th", num_columns=columns, num_rows=rows)
        elif tag == "caption":
            self._in_caption = True
        elif tag == "br":
            self.handle_data("\n")
        elif tag not in ("table", "thead", "tbody", "tfoot"):
            self.handle_data(self.get_starttag_text() or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr", "table"):
            self.end_cell()
        elif tag == "caption":
            self._in_caption = False
        elif tag not in ("thead", "tbody", "tfoot", "br"):
            self.handle_data(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if self._in_caption:
            self.caption.append(data)
        elif self._cell is not None:
            self._text.append(data)
        elif data.strip():
            # What stands between cells is text of the document too.
            self.rows.append([Cell(text=data.strip())])

    def handle_comment(self, data: str) -> None:
        self.handle_data(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self.handle_data(f"<!{decl}>")

    def unknown_decl(self, data: str) -> None:
        self.handle_data(f"<![{data}]>")

    def handle_pi(self, data: str) -> None:
        self.handle_data(f"<?{data}>")

    def end_cell(self) -> None:
        if self._cell is None:
            return
        if not self.rows:
            self.rows.append([])
        self.rows[-1].append(replace(self._cell, text="".join(self._text).strip()))
        self._cell, self._text = None, []


def _span(text: str | None) -> int:
    number = text or ""
    return (
        min(max(int(number), 1), _MAX_SPAN)
        if number.isascii() and number.isdigit() and len(number) < 5
        else 1
    )
