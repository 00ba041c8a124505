"""Tells what a document's pages say together, before they are written in a format that has structure.

Headings have the level that they have in the document (`outline.py`). Running heads, feet and page numbers are taken
out of the pages' text (`page_furniture.py`). A table that ends a page and goes on at the top of the next is one, on the
page where it begins, with its head row once. Pages are read as they come: only those near each other are held, and
those that one table goes over, a hundred at most.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, groupby

from rapidfuzz.distance import Levenshtein

from storage.export.outline import (
    HEADINGS,
    RUNNING_HEAD,
    Outline,
    block_words,
    body_height,
    letters,
    line_height,
)
from storage.export.page_furniture import LARGER, REACH, Edges, Seen, edges, num_furniture
from storage.export.reflow import FENCE, words_of
from storage.export.rendering import tables
from storage.export.rows import BlockRow, PageRow
from storage.export.tables import Cell, Table
from storage.types import WordRow

_SIGN = re.compile(r"#{1,6}\s+")
_ROW = re.compile(r"(?=<tr[\s>])", re.IGNORECASE)
_CONTINUED = re.compile(
    r"\b(?:continued|cont\.|cont['’]d|Fortsetzung|suite|continuación|segue)\b", re.IGNORECASE
)
_FIGURE, _BAR = re.compile(r"\d"), "\\|"
_MOST_WORDS = 200_000
_MOST_PAGES = 100  # of one table
# How much of their widths two parts of a table share, and how alike two readings of its head row are.
_SHARED, _ALIKE, _MOSTLY = 0.8, 0.8, 0.5


class StructuredRow(PageRow):
    """A page as its document's structure has it: markdown, never None, and blocks say so; text and words are as read.

    furniture: what was taken out of the markdown, in order. continues: the table at its top is part of one on a page
    before. shown_words: those of the markdown. known_words: those of the document as far as it was read, in small
    letters. Headings are blocks called heading_1 to heading_6.
    """

    furniture: list[str]
    continues: bool
    shown_words: list[WordRow]
    known_words: Set[str]


@dataclass(slots=True, kw_only=True)
class _Page:
    """A page on its way. parts: of its markdown. seen: how its blocks look, by their letters."""

    row: PageRow
    parts: list[str]
    seen: dict[str, Seen]
    edges: Edges = field(init=False)
    furniture: list[str] = field(default_factory=list)
    continues: bool = False
    table: list[Table] = field(default_factory=list)  # its last one, as it stands on it
    table_words: list[WordRow] = field(default_factory=list)  # of its last table, on the pages after it
    hidden: set[int] = field(default_factory=set)  # the blocks that its markdown has no longer

    def __post_init__(self) -> None:
        self.edges = edges(self.parts, [self.seen.get(letters(part), Seen()) for part in self.parts])

    @classmethod
    def of(cls, row: PageRow, outline: Outline) -> "_Page":
        width = row["width_px"] or 1
        heights = [line_height(*pair) for pair in zip(row["blocks"], block_words(row), strict=True)]
        large = LARGER * body_height(
            zip(heights, (len(block["text"]) for block in row["blocks"]), strict=True)
        )
        seen = {
            letters(block["text"]): Seen(
                label=block["label"],
                height=height / width,
                is_large=height > large,
                is_repeated=outline.level(row["page"], block["text"]) == RUNNING_HEAD,
            )
            for block, height in zip(row["blocks"], heights, strict=True)
        }
        return cls(row=row, parts=list(parted(row["markdown"] or row["text"] or "")), seen=seen)

    def is_note(self, part: str) -> bool:
        return self.seen.get(letters(part), Seen()).label == "footnote"

    def finished(self, known: Set[str]) -> StructuredRow:
        words = self.row["words"]
        if self.hidden:
            own = enumerate(block_words(self.row))
            words = [word for at, part in own if at not in self.hidden for word in part]
        return {
            **self.row,
            "markdown": "\n\n".join(self.parts),
            "furniture": self.furniture,
            "continues": self.continues,
            "shown_words": [*words, *self.table_words],
            "known_words": known,
        }


def structured(rows: Iterable[PageRow], outline_of: Callable[[PageRow], Outline]) -> Iterator[StructuredRow]:
    """Yields the pages of documents. outline_of: returns the outline of the document that a page is of."""
    for _, pages in groupby(rows, key=lambda row: (row["path"], row["sha256"], row["superseded"])):
        first = next(pages)
        outline, known = outline_of(first), set[str]()
        found = _without_furniture(chain([first], pages), outline, known)  # noqa: B031 the same group, read on
        for page in _tables_joined(_with_levels(page, outline) for page in found):
            yield page.finished(known)


def parted(markdown: str) -> Iterator[str]:
    """Yields what empty lines part, but not within code."""
    lines: list[str] = []
    in_code = False
    for line in markdown.split("\n"):
        if FENCE.match(line):
            in_code = not in_code
        if line.strip() or in_code:
            lines.append(line)
        elif lines:
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


def _without_furniture(rows: Iterable[PageRow], outline: Outline, known: set[str]) -> Iterator[_Page]:
    """Yields each page without its furniture, by the pages near it; notes the words of those ahead."""
    before: deque[tuple[int, Edges]] = deque(maxlen=REACH)
    ahead: deque[_Page] = deque()
    coming = iter(rows)
    while True:
        while len(ahead) <= REACH and (row := next(coming, None)) is not None:
            ahead.append(_Page.of(row, outline))
            if len(known) < _MOST_WORDS:
                known |= words_of(row["markdown"] or row["text"] or "")
        if not ahead:
            return
        page = ahead.popleft()
        here = page.row["page"]
        near = [*before, *((other.row["page"], other.edges) for other in ahead)]
        top, foot = num_furniture(
            page.edges, [(number - here, its) for number, its in near if 0 < abs(number - here) <= REACH]
        )
        before.append((here, page.edges))
        end = max(top, len(page.parts) - foot)
        heads, feet = page.parts[:top], page.parts[end:]
        page.furniture = [_SIGN.sub("", part, count=1) for part in (*heads, *feet)]
        page.parts = page.parts[top:end]
        _label_furniture(page, heads, feet)
        yield page


def _label_furniture(page: _Page, heads: Sequence[str], feet: Sequence[str]) -> None:
    blocks = list(page.row["blocks"])
    for parts, label, numbers in (
        (heads, "page_header", range(len(blocks))),
        (feet, "page_footer", range(len(blocks))[::-1]),
    ):
        for part in parts if label == "page_header" else parts[::-1]:
            at = next((at for at in numbers if letters(blocks[at]["text"]) == letters(part)), None)
            if at is not None:
                own = label if any(map(str.isalpha, part)) else "page_number"
                blocks[at] = {**blocks[at], "label": own}
                page.hidden.add(at)
    page.row = {**page.row, "blocks": blocks}


def _with_levels(page: _Page, outline: Outline) -> _Page:
    """Returns the page with its headings as the document has them."""
    number, row = page.row["page"], page.row
    blocks: list[BlockRow] = []
    for block in row["blocks"]:
        level = outline.level(number, block["text"]) if block["label"] in (*HEADINGS, "text") else None
        level = HEADINGS.get(block["label"]) if level is None else level
        label = block["label"] if level is None else f"heading_{level}" if level > 0 else "text"
        blocks.append({**block, "label": label})
    page.row = {**row, "blocks": blocks}
    page.parts = [part if FENCE.match(part) else _levelled(part, number, outline) for part in page.parts]
    return page


def _levelled(part: str, page: int, outline: Outline) -> str:
    level = outline.level(page, part)
    if level is not None and (level > 0 or part.startswith("#")):
        text = " ".join(_SIGN.sub("", part, count=1).split())
        text = text[2:-2] if text.startswith("**") and text.find("**", 2) == len(text) - 2 else text
        return f"{'#' * level} {text}" if level > 0 else text
    if not part.startswith("#"):
        return part
    lines = part.split("\n")
    for at, line in enumerate(lines):
        if (sign := _SIGN.match(line)) is not None and (level := outline.level(page, line)) is not None:
            lines[at] = f"{'#' * level} {line[sign.end() :]}".lstrip()
    return "\n".join(lines)


def _tables_joined(pages: Iterable[_Page]) -> Iterator[_Page]:
    """Yields the pages, tables that go on over several on the first of these."""
    held: list[_Page] = []  # all but the first have nothing but rows of its table
    for page in pages:
        if held and len(held) < _MOST_PAGES and _join(held[0], held[-1], page):
            held.append(page)
            if not page.parts:
                continue
        yield from held[: len(held) - page.continues]
        held = [page]
    yield from held


def _join(first: _Page, last: _Page, page: _Page) -> bool:
    """Moves the table at a page's top to the one that a page ends with, if it is the same; returns whether it is.

    first: the page where that begins. last: the one before the page, where its latest rows stand.
    """
    above = next((at for at in range(len(first.parts) - 1, -1, -1) if not first.is_note(first.parts[at])), -1)
    below = int(len(page.parts) > 1 and len(page.parts[0]) < 200 and bool(_CONTINUED.search(page.parts[0])))
    if above < 0 or len(page.parts) <= below or page.row["page"] != last.row["page"] + 1:
        return False
    upper, lower = first.parts[above], page.parts[below]
    if not _is_table(upper) or not _is_table(lower):
        return False
    own, (rest, *others) = first.table or tables(upper), tables(lower)
    if len(own) > 1 or others:
        return False
    is_headed = _is_headed_like(rest, own[0])
    if not is_headed and (_has_head(rest) or not _is_below(first, page, own[0], rest)):
        return False
    if (joined := _with_rows(upper, lower, rest.rows[is_headed:])) is None:
        return False
    first.parts[above], first.table = joined, own
    page.furniture += page.parts[:below]
    page.parts = page.parts[below + 1 :]
    page.continues = True
    at = next((at for at, block in enumerate(page.row["blocks"]) if block["label"] == "table"), None)
    if at is not None:
        first.table_words += block_words(page.row)[at]
        page.hidden.add(at)
    return True


def _is_table(part: str) -> bool:
    text = part.strip().lower()
    ruled = [*text.split("\n", 2), ""][1]
    is_barred = text.startswith("|") and "-" in ruled and not set(ruled) - set("|:- \t")
    return is_barred or (text.startswith("<table") and text.endswith("</table>"))


def _is_headed_like(rest: Table, table: Table) -> bool:
    """Returns whether a table begins with the head row of another, letters read otherwise or not, but no figures."""
    first, head = ([cell.text for cell in its.rows[0]] if its.rows else [] for its in (rest, table))
    one, other = letters("".join(first)), letters("".join(head))
    is_same = len(first) == len(head) and bool(one) and _FIGURE.findall(one) == _FIGURE.findall(other)
    return is_same and Levenshtein.normalized_similarity(one, other) >= _ALIKE


def _has_head(table: Table) -> bool:
    return bool(table.rows) and all(
        cell.is_heading and not _FIGURE.search(cell.text) for cell in table.rows[0]
    )


def _is_below(first: _Page, page: _Page, table: Table, rest: Table) -> bool:
    """Returns whether a table has the columns of another: as many, with figures in the same ones, as far across."""
    kinds, others = _kinds(table.grid()[_has_head(table) :]), _kinds(rest.grid())
    if not kinds or kinds != others:
        return False
    upper, lower = (
        next((block["box"] for block in row if block["label"] == "table"), None)
        for row in (first.row["blocks"][::-1], page.row["blocks"])
    )
    if upper is None or lower is None:
        return True
    both = min(upper[2], lower[2]) - max(upper[0], lower[0])
    return both >= _SHARED * (max(upper[2], lower[2]) - min(upper[0], lower[0]))


def _kinds(rows: Sequence[Sequence[str]]) -> list[bool]:
    """Returns of each column whether most of its cells that are not empty have figures."""
    columns = ([cell for cell in column if cell] for column in zip(*rows, strict=True))
    return [
        sum(_FIGURE.search(cell) is not None for cell in column) > _MOSTLY * len(column) for column in columns
    ]


def _with_rows(upper: str, lower: str, rows: Sequence[Sequence[Cell]]) -> str | None:
    """Returns a table's markdown with rows of another after it; None where they cannot be written so.

    lower: the other's markdown, of which these rows are the last.
    """
    if upper.lstrip().startswith("|"):
        if any(cell.num_rows > 1 or cell.num_columns > 1 for row in rows for cell in row):
            return None
        barred = (
            "".join(f" {' '.join(cell.text.split()).replace('|', _BAR)} |" for cell in row) for row in rows
        )
        return "\n".join([upper.rstrip("\n"), *(f"|{row}" for row in barred)])
    end = len(upper.rstrip()) - len("</table>")
    added = [row[: row.lower().rfind("</tr>") + len("</tr>")] for row in _ROW.split(lower)[1:]]
    if len(added) < len(rows) or not all(row.lower().endswith("</tr>") for row in added):
        return None
    return f"{upper[:end]}{''.join(added[len(added) - len(rows) :])}{upper[end:]}"
