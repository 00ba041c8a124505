"""Parses output without regions: text that is taken as it stands (markdown, LaTeX, plain), and HTML tables in it."""

import html
import re
from collections.abc import Iterator

from ocr.types import Block, ParsedText

_MANY_NEWLINES = re.compile(r"\n{3,}")
_END = re.compile(r"\n[^\S\n]*+\n")
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,7}|#x[0-9A-Fa-f]{1,6});")
_TABLE = re.compile(r"<(/?)table(?:\s[^<>]*+)?>", re.IGNORECASE)
_PART = re.compile(r"</?(?:thead|tbody|tfoot|colgroup|col)(?:\s[^<>]*+)?/?>", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*+/?>", re.IGNORECASE)
_NEXT_CELL = re.compile(r"</t[dh]>\s*+<t[dh](?:\s[^<>]*+)?>", re.IGNORECASE)
_NEXT_ROW = re.compile(r"</(?:tr|caption)>\s*+<tr(?:\s[^<>]*+)?>", re.IGNORECASE)
_TAG = re.compile(r"</?(?:table|tr|td|th|caption)(?:\s[^<>]*+)?>", re.IGNORECASE)


def tidy(text: str) -> str:
    """Returns text with at most one empty line at a time, and none around it."""
    return _MANY_NEWLINES.sub("\n\n", text).strip()


def unescaped(text: str) -> str:
    """Returns text with characters for entities. An ampersand that begins none of them, as in AT&T, stays."""
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text)


def parse_text(raw: str) -> ParsedText:
    """Returns the output as text and as markdown, its paragraphs as blocks without boxes. Never raises."""
    text = tidy(raw)
    return ParsedText(text=text, markdown=text, blocks=tuple(paragraphs(raw, 0, len(raw))))


def paragraphs(raw: str, start: int, end: int) -> Iterator[Block]:
    """Yields the paragraphs of a part of the output."""
    ends = [match.span() for match in _END.finditer(raw, start, end)]
    starts = [start, *(after for _, after in ends)]
    for first, last in zip(starts, [*(before for before, _ in ends), end], strict=True):
        if paragraph := raw[first:last].strip():
            at = raw.index(paragraph, first)
            yield Block(label="text", text=paragraph, raw_span=(at, at + len(paragraph)))


def parse_html_tables(raw: str) -> ParsedText:
    """Returns the output as markdown; as text, tables with a line a row and a tab a cell. Never raises.

    Blocks are tables, and the paragraphs between them, without boxes.
    """
    markdown = tidy(raw)
    return ParsedText(text=plain_tables(markdown).strip(), markdown=markdown, blocks=tuple(_blocks(raw)))


def plain_tables(markdown: str) -> str:
    """Returns markdown whose tables are plain text."""
    parts = []
    at = 0
    for start, end in _tables(markdown):
        parts += [markdown[at:start].rstrip(" "), _table_text(markdown[start:end])]
        at = end
    text = ""
    for part in filter(None, (*parts, markdown[at:])):
        text += ("\n" if text and not text.endswith("\n") and not part.startswith("\n") else "") + part
    return text


def _tables(text: str) -> Iterator[tuple[int, int]]:
    """Yields (start, end) of each table, those within others left out. One that is cut off ends with the text."""
    depth = start = 0
    for tag in _TABLE.finditer(text):
        if not tag[1]:
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield start, tag.end()
    if depth:
        yield start, len(text)


def _table_text(table: str) -> str:
    text = _BREAK.sub(" ", _PART.sub("", table))
    text = unescaped(_TAG.sub(" ", _NEXT_ROW.sub("\n", _NEXT_CELL.sub("\t", text))))
    return "\n".join(filter(None, (line.strip(" ") for line in text.split("\n"))))


def _blocks(raw: str) -> Iterator[Block]:
    at = 0
    for start, end in _tables(raw):
        yield from paragraphs(raw, at, start)
        yield Block(label="table", text=tidy(raw[start:end]), raw_span=(start, end))
        at = end
    yield from paragraphs(raw, at, len(raw))
