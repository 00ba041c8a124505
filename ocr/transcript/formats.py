"""Parses a model's output in whatever format it writes."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from tokenizers import Tokenizer

from ocr.transcript import grounding
from ocr.transcript.docling import markups
from ocr.transcript.layouts import json_layout
from ocr.transcript.untagged import parse_html_tables, parse_text
from ocr.types import Format, OutputFormat, ParsedText

_FRONT_MATTER = re.compile(r"\s*+---[^\S\n]*+\n(?:[^\S\n]*+(?:[\w-]++:[^\n]*+)?\n)*---[^\S\n]*+(?:\n|\Z)")


Span = tuple[int, int]


class _OfRegions(Protocol):
    def __call__(self, raw: str, *, width_px: int, height_px: int, page_number: int) -> ParsedText: ...


_WITH_REGIONS: Mapping[Format, _OfRegions] = {
    "ref_det": grounding.parse,
    "det": grounding.parse_det,
    "doctags": markups.parse_doctags,
    "doclang": markups.parse_doclang,
    "json_layout": json_layout.parse,
}
# What these formats are made of; other special tokens are no part of them. Those of the rest are not told apart.
_MARKUP: Mapping[Format, Callable[[str], object]] = {
    "doctags": markups.DOCTAG.fullmatch,
    "doclang": markups.DOCLANG_TAG.fullmatch,
}


def parse(
    raw: str,
    output_format: OutputFormat,
    tokenizer: Tokenizer,
    *,
    width_px: int,
    height_px: int,
    page_number: int = 1,
) -> ParsedText:
    """Returns text, markdown and blocks of a page of width_px x height_px. Never raises.

    raw: decoded with its special tokens; tokenizer: the one that did. Tokens that are no part of the format and front
    matter are left out; blocks' raw_span is in raw all the same.
    """
    kept = _kept(raw, output_format, tokenizer)
    if (of_regions := _WITH_REGIONS.get(output_format.name)) is not None:
        parsed = of_regions(kept.text, width_px=width_px, height_px=height_px, page_number=page_number)
    elif output_format.name == "markdown_html_tables":
        parsed = parse_html_tables(kept.text)
    else:
        parsed = parse_text(kept.text)
    if kept.text == raw:
        return parsed
    blocks = (
        replace(block, raw_span=None if block.raw_span is None else kept.in_raw(block.raw_span))
        for block in parsed.blocks
    )
    return replace(parsed, blocks=tuple(blocks))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptText:
    """The text that is left. text_starts, raw_starts: where each kept part begins, in it and in the output."""

    text: str
    text_starts: tuple[int, ...]
    raw_starts: tuple[int, ...]

    @classmethod
    def without(cls, raw: str, cuts: Iterable[Span]) -> "KeptText":
        """Returns the output without these (start, end), which are in order and do not overlap."""
        parts, text_starts, raw_starts = [], [0], [0]
        length = at = 0
        for start, end in cuts:
            parts.append(raw[at:start])
            length += start - at
            at = end
            text_starts.append(length)
            raw_starts.append(end)
        text = "".join((*parts, raw[at:]))
        return cls(text=text, text_starts=tuple(text_starts), raw_starts=tuple(raw_starts))

    def in_raw(self, span: Span) -> Span:
        """Returns a span of the text as one of the output; what was cut at its ends is not part of it."""
        start, end = span
        if start == end:
            return self._position(start), self._position(start)
        return self._position(start), self._position(end - 1) + 1

    def _position(self, index: int) -> int:
        part = bisect_right(self.text_starts, index) - 1
        return self.raw_starts[part] + index - self.text_starts[part]


def _kept(raw: str, output_format: OutputFormat, tokenizer: Tokenizer) -> KeptText:
    """Returns the output without what is no part of its format."""
    name = output_format.name
    cuts: list[Span] = []
    if not output_format.keeps_special_tokens:
        cuts = list(_special_spans(raw, tokenizer, lambda token: False))
    elif name in _MARKUP:
        cuts = list(_special_spans(raw, tokenizer, _MARKUP[name]))
    kept = KeptText.without(raw, cuts)
    front = _FRONT_MATTER.match(kept.text) if output_format.front_matter else None
    if front is None:
        return kept
    end = kept.in_raw(front.span())[1]
    return KeptText.without(raw, [(0, end), *(cut for cut in cuts if cut[0] >= end)])


def _special_spans(raw: str, tokenizer: Tokenizer, is_markup: Callable[[str], object]) -> Iterator[Span]:
    """Yields (start, end) of each token that the tokenizer marks as special, but for the format's own markup.

    The output is text by now: a page on which such a token is printed loses it, as with skip_special_tokens.
    """
    pattern = _pattern(tokenizer)
    if pattern is not None:
        yield from (match.span() for match in pattern.finditer(raw) if not is_markup(match[0]))


@lru_cache(maxsize=2)
def _pattern(tokenizer: Tokenizer) -> re.Pattern[str] | None:
    added = tokenizer.get_added_tokens_decoder().values()
    special = sorted({token.content for token in added if token.special and token.content}, reverse=True)
    return re.compile("|".join(map(re.escape, special))) if special else None
