"""Parses a model's output in whatever format it writes."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from tokenizers import Tokenizer

from ocr.transcript import grounding
from ocr.transcript.docling import markups
from ocr.transcript.kept_text import KeptText
from ocr.transcript.layouts import det, json_layout
from ocr.transcript.special_tokens import special_spans
from ocr.transcript.untagged import html_tables, running_text
from ocr.types import Format, OutputFormat, ParsedText

_FRONT_MATTER = re.compile(r"\s*+---[^\S\n]*+\n(?:[^\S\n]*+(?:[\w-]++:[^\n]*+)?\n)*---[^\S\n]*+(?:\n|\Z)")


class _OfRegions(Protocol):
    def __call__(self, raw: str, *, width_px: int, height_px: int, page_number: int) -> ParsedText: ...


_WITH_REGIONS: Mapping[Format, _OfRegions] = {
    "ref_det": grounding.parse,
    "det": det.parse,
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
    parsed = _parsed(kept.text, output_format.name, width_px, height_px, page_number)
    if kept.text == raw:
        return parsed
    blocks = (
        replace(block, raw_span=None if block.raw_span is None else kept.in_raw(block.raw_span))
        for block in parsed.blocks
    )
    return replace(parsed, blocks=tuple(blocks))


def _parsed(raw: str, name: Format, width_px: int, height_px: int, page_number: int) -> ParsedText:
    if name in _WITH_REGIONS:
        return _WITH_REGIONS[name](raw, width_px=width_px, height_px=height_px, page_number=page_number)
    return html_tables.parse(raw) if name == "markdown_html_tables" else running_text.parse(raw)


def _kept(raw: str, output_format: OutputFormat, tokenizer: Tokenizer) -> KeptText:
    """Returns the output without what is no part of its format."""
    name = output_format.name
    cuts: list[tuple[int, int]] = []
    if not output_format.keeps_special_tokens:
        cuts = list(special_spans(raw, tokenizer, lambda token: False))
    elif name in _MARKUP:
        cuts = list(special_spans(raw, tokenizer, _MARKUP[name]))
    kept = KeptText.without(raw, cuts)
    front = _FRONT_MATTER.match(kept.text) if output_format.front_matter else None
    if front is None:
        return kept
    end = kept.in_raw(front.span())[1]
    return KeptText.without(raw, [(0, end), *(cut for cut in cuts if cut[0] >= end)])
