"""Parses markdown whose tables are HTML."""

import re
from collections.abc import Iterator

from ocr.transcript.grounding import tidy
from ocr.transcript.untagged.entities import unescaped
from ocr.transcript.untagged.running_text import paragraphs
from ocr.types import Block, ParsedText

_TABLE = re.compile(r"<(/?)table(?:\s[^<>]*+)?>", re.IGNORECASE)
_PART = re.compile(r"</?(?:thead|tbody|tfoot|colgroup|col)(?:\s[^<>]*+)?/?>", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*+/?>", re.IGNORECASE)
_NEXT_CELL = re.compile(r"</t[dh]>\s*+<t[dh](?:\s[^<>]*+)?>", re.IGNORECASE)
_NEXT_ROW = re.compile(r"</(?:tr|caption)>\s*+<tr(?:\s[^<>]*+)?>", re.IGNORECASE)
_TAG = re.compile(r"</?(?:table|tr|td|th|caption)(?:\s[^<>]*+)?>", re.IGNORECASE)


def parse(raw: str) -> ParsedText:
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
