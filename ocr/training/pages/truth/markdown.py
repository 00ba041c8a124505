"""Converts a block's HTML to markdown, marking which characters are drawn on the page and which are notation."""

import re
from dataclasses import dataclass
from html.parser import HTMLParser

from ocr.training.pages.matter.html_blocks import Block, Kind
from ocr.training.pages.truth.page_truth import clean

DRAWN, BULLET, NOTATION = "d", "b", " "
_HEADINGS = {"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### "}
_LINES = frozenset({"p", "div", "h1", "h2", "h3", "h4", "pre", "ul", "ol", "li", "tr", "br"})
_SPACE = re.compile(r"(\s+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Markdown:
    """Markdown with a role for each character: DRAWN, BULLET (drawn as another mark), or NOTATION and white space.

    Fences around code are left out: a block may be cut where a column ends.
    """

    text: str
    roles: str


def markdown(block: Block) -> Markdown:
    """Returns the block's markdown. Bold, slanted and coloured text is plain; lines of a paragraph are one line."""
    parser = _Parser(block.kind)
    parser.feed(block.html)
    parser.close()
    return Markdown(text=parser.text, roles=parser.roles)


class _Parser(HTMLParser):
    """Parses a block's markup, which is this project's own and well formed."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(convert_charrefs=True)
        self.kind = kind
        self.text = self.roles = ""
        self.lists: list[int | None] = []  # the next number of each list that is open, None with bullets
        self.in_pre = self.in_mark = False
        self.cells = self.rows = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name = given.get("class", "")
        if tag in _LINES:
            self._new_line()
        if tag in _HEADINGS:
            self._add(_HEADINGS[tag], NOTATION)
        elif tag in ("ul", "ol"):
            self.lists.append(int(given.get("start", "1")) if tag == "ol" else None)
        elif tag == "li":
            self._item()
        elif tag == "p" and name.startswith("item"):
            self._add("  " * int(name.removeprefix("item")), NOTATION)
        elif tag == "pre":
            self.in_pre = True
        elif name == "mark":
            self.in_mark = True
        elif tag == "tr":
            self.cells = 0
        elif tag in ("td", "th"):
            self.cells += 1
            self._add("| " if self.kind == "table" else " " * (self.cells > 1), NOTATION)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("ul", "ol"):
            self.lists.pop()
        elif tag == "pre":
            self.in_pre = False
        elif tag == "span":
            self.in_mark = False
        elif self.kind == "table" and tag in ("td", "th"):
            self._add(" ", NOTATION)
        elif self.kind == "table" and tag == "tr":
            head = "" if self.rows else "\n" + "| --- " * self.cells + "|"
            self._add("|" + head, NOTATION)
            self.rows += 1

    def handle_data(self, data: str) -> None:
        for piece in _SPACE.split(data.replace("\u00ad", "")):
            if not piece.strip():
                self._space(piece)
            elif self.in_mark and not any(map(str.isalnum, piece)):
                self._add("-", BULLET)
            else:
                self._word("".join(map(clean, piece)))

    def _word(self, word: str) -> None:
        if self.kind == "table" and "|" in word:
            for part in re.split(r"(\|)", word):
                self._add("\\" if part == "|" else "", NOTATION)
                self._add(part, DRAWN)
        else:
            self._add(word, DRAWN)

    def _space(self, piece: str) -> None:
        if self.in_pre and self.kind == "code":
            self._add(piece, NOTATION)
        elif self.in_pre and "\n" in piece:
            self._new_line()
        elif piece.strip("\u200a") and self.text and not self.text.endswith((" ", "\n")):
            self._add(" ", NOTATION)

    def _item(self) -> None:
        self._add("  " * (len(self.lists) - 1), NOTATION)
        number = self.lists[-1]
        if number is None:
            self._add("-", BULLET)
        else:
            self._add(f"{number}.", DRAWN)
            self.lists[-1] = number + 1
        self._add(" ", NOTATION)

    def _new_line(self) -> None:
        self.text = self.text.rstrip(" ")
        self.roles = self.roles[: len(self.text)]
        if self.text and not self.text.endswith("\n"):
            self._add("\n", NOTATION)

    def _add(self, text: str, role: str) -> None:
        self.text += text
        self.roles += role * len(text)
