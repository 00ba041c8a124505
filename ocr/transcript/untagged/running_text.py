"""Parses text that is taken as it stands: markdown, LaTeX, plain text."""

import re
from collections.abc import Iterator

from ocr.transcript.grounding import tidy
from ocr.types import Block, ParsedText

_END = re.compile(r"\n[^\S\n]*+\n")


def parse(raw: str) -> ParsedText:
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
