"""Writes blocks of a text layer as markdown: bold and italic print, links, lists, code; finds a page's links.

Torch-free.

Text that would be markup is escaped, except for what storage.export.markdown makes inert in every export.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any
from urllib.parse import quote

from ocr.paragraphs.table_markup import TAG
from pipeline.text_layer.extract.spans import Box, Glyph, Span, between, clean, holds, touch

BULLET = re.compile(r"[•‣▪●◦○■□◆▶►⁃∙·–−]\s+(?=\S)")
# Characters that would be emphasis, code or an escape; an underscore within a word is not, nor a backslash before it.
_EMPHASIS = re.compile(r"[*`]|\\(?=[!-/:-@\[-`{-~\n]|$)|(?<![^\W_])_|_(?![^\W_])")
# What a line must not start with (a heading, quotation or fence) or consist of (an underline, making a heading of the
# line above).
_LINE_START = re.compile(r"^\s*(?=#{1,6}(?:\s|$)|>|~{3}|(?:=+|-+)\s*$)")
_BRACKETS = re.compile(r"[\[\]]")
# Only words count as emphasised: symbols and formulas are set in italics as well.
_WORD = re.compile(r"[^\W\d_]{3}")
# Schemes that links in an export may have (storage.export.markdown): these only open a page, or an empty e-mail.
_SCHEMES = ("http://", "https://", "mailto:")
_LONGEST = 2000
# Characters that may be in an address within markdown's brackets; others become %XX. A % is already part of one.
_SAFE = "%/:?#@!$&*+,;=~-._[]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link on a page. box: in points of the page as shown. address: safe in markdown."""

    box: Box
    address: str


def find_links(page: Any) -> list[Link]:
    """Returns the links to web pages and e-mail addresses, not those within the document or that run something.

    page: a pymupdf Page. Raises: whatever MuPDF does.
    """
    found = []
    link = page.first_link  # get_links() looks for every named place of the document, which may take seconds
    while link is not None:
        address = link.uri or ""
        if address.lower().startswith(_SCHEMES) and len(address) <= _LONGEST:
            found.append(Link(box=tuple(link.rect), address=quote(address, safe=_SAFE)))
        link = link.next
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Text in one style. address: where it links to, if it is a link."""

    text: str
    is_bold: bool = False
    is_italic: bool = False
    address: str | None = None

    @property
    def style(self) -> tuple[bool, bool, str | None]:
        return self.is_bold, self.is_italic, self.address


def heading(text: str, level: int) -> str:
    """Returns a heading in one line."""
    return f"{'#' * level} {TAG.sub(_escaped, _EMPHASIS.sub(_escaped, ' '.join(text.split())))}"


def code(text: str) -> str:
    """Returns text unchanged in a code fence, longer than any in the text."""
    longest = max((len(ticks) for ticks in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"


def paragraph(lines: Sequence[Sequence[Span]], links: Sequence[Link], *, body_is_bold: bool) -> str:
    """Returns printed lines with their emphasis and links; lines that start with a bullet become list items.

    body_is_bold: most of the page is bold, so that bold emphasises nothing.
    """
    pieces: list[_Piece] = []
    for number, line in enumerate(lines):
        if number:
            pieces.append(_Piece(text="\n"))
        own = list(_pieces(line, links, body_is_bold=body_is_bold))
        whole = "".join(piece.text for piece in own)
        pieces += _item(own) if BULLET.match(whole) else own
    lines_of_text = _inline(_merged(pieces)).split("\n")
    return "\n".join(_LINE_START.sub(lambda match: f"{match[0]}\\", line) for line in lines_of_text)


def _item(pieces: Sequence[_Piece]) -> Iterator[_Piece]:
    """Yields the line with a dash in place of its bullet, which may be in a typeface of its own."""
    yield _Piece(text="- ")
    to_drop = len(BULLET.match("".join(piece.text for piece in pieces))[0])  # type: ignore[index]
    for piece in pieces:
        kept = piece.text[to_drop:]
        to_drop -= min(to_drop, len(piece.text))
        if kept:
            yield replace(piece, text=kept)


def _pieces(line: Sequence[Span], links: Sequence[Link], *, body_is_bold: bool) -> Iterator[_Piece]:
    """Yields a printed line in pieces of one style, with the spaces between spans."""
    before: Span | None = None
    for span in line:
        if before is not None and (gap := between(before.line, span.line)):
            yield _Piece(text=" " if gap.isspace() and "\t" not in gap else gap)
        for address, text in _by_address(span, links):
            yield _Piece(
                text=text,
                is_bold=span.is_bold and not body_is_bold,
                is_italic=span.is_italic,
                address=address,
            )
        before = span


def _by_address(span: Span, links: Sequence[Link]) -> Iterator[tuple[str | None, str]]:
    near = [link for link in links if touch(link.box, span.box)]  # a table of contents has hundreds
    if not near:
        yield None, span.line.text
        return

    def where(char: Glyph) -> str | None:
        return next((link.address for link in near if holds(link.box, char.middle)), None)

    for address, chars in groupby(span.chars, key=where):
        yield address, clean("".join(char.text for char in chars))


def _merged(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Returns the pieces with neighbours of the same style merged, along with the white space between them."""
    if not pieces:
        return []
    # For each piece the next one that is not white space, in reverse order.
    following: list[_Piece | None] = [None]
    for piece in reversed(pieces[1:]):
        following.append(piece if piece.text.strip() else following[-1])
    merged: list[_Piece] = []
    for piece, after in zip(pieces, reversed(following), strict=True):
        if not piece.text.strip():  # white space has the style of both its neighbours, or none
            is_within = merged and after is not None and merged[-1].style == after.style
            piece = replace(merged[-1] if is_within else _Piece(text=""), text=piece.text)
        if merged and merged[-1].style == piece.style:
            merged[-1] = replace(piece, text=merged[-1].text + piece.text)
        else:
            merged.append(piece)
    return merged


def _inline(pieces: Sequence[_Piece]) -> str:
    written = ""
    for number, piece in enumerate(pieces):
        after = pieces[number + 1].text[:1] if number + 1 < len(pieces) else ""
        written += _styled(piece, written[-1:], after)
    return written


def _styled(piece: _Piece, before: str, after: str) -> str:
    core = piece.text.strip()
    if not core:
        return piece.text
    lead, tail = piece.text[: piece.text.index(core[0])], piece.text[len(piece.text.rstrip()) :]
    text = TAG.sub(_escaped, _EMPHASIS.sub(_escaped, core))
    stars = 2 * piece.is_bold + piece.is_italic if _WORD.search(core) else 0
    # Where CommonMark would not recognise the start or end of emphasis, stars would be text.
    opens = lead or not before or before.isspace() or (core[0].isalnum() and before != "*")
    closes = tail or not after or after.isspace() or core[-1].isalnum()
    if stars and opens and closes and "\n\n" not in core:
        text = f"{'*' * stars}{text}{'*' * stars}"
    if piece.address is not None:
        text = f"[{_BRACKETS.sub(_escaped, text)}]({piece.address})"
    return lead + text + tail


def _escaped(match: re.Match[str]) -> str:
    return "\\" + match[0]
