"""Parses Unlimited-OCR's output: regions whose one tag holds label and box.

    <|det|>label [x0, y0, x1, y1]<|/det|>text up to the next region

Coordinates run from 0 to 999 over the page, as DeepSeek-OCR's (ocr.transcript.grounding), from which it was made.
Source: baidu/Unlimited-OCR, README.md.
"""

import re
from itertools import pairwise

from ocr.transcript.grounding import LABELS, read_boxes, strip_tags, to_pixels
from ocr.transcript.layouts.regions import Region, headed, page_text, unmarked
from ocr.transcript.untagged import paragraphs, tidy
from ocr.types import ParsedText

_REGION = re.compile(
    r"<\|det\|>(?P<label>(?:(?!<\|)[^\[])*)(?=\[|<\|)(?P<boxes>(?:(?!<\|)[\s\S])*)<\|/det\|>"
)
# A tag without an end, which is no text if a label and coordinates are all that it has.
_CUT_OFF = re.compile(r"<\|det\|>\s*+(?P<label>\w{1,20}+)\s*+(?:\[[\d\s,.]*+)?\Z")
_PAGE = re.compile(r"<PAGE>")  # between the pages of a document


def parse(raw: str, *, width_px: int, height_px: int, page_number: int = 1) -> ParsedText:
    """Returns text, markdown and blocks of a page of width_px x height_px. Never raises, and loses nothing but tags."""
    starts = [match.start() for match in _REGION.finditer(raw)] + [len(raw)]
    head = [
        Region(label="text", markdown=_text(block.text), plain=_text(block.text), raw_span=block.raw_span)
        for block in paragraphs(raw, 0, starts[0])
        if _text(block.text)
    ]
    regions = (_region(raw, start, end, width_px, height_px) for start, end in pairwise(starts))
    return page_text([*head, *regions], page_number)


def _region(raw: str, start: int, end: int, width_px: int, height_px: int) -> Region:
    match = _REGION.match(raw, start, end)
    assert match, "cut where the pattern was found"
    box, leftover = read_boxes(match["boxes"])
    body = tidy(leftover + "\n" + _text(raw[match.end() : end]))
    label = match["label"].strip()
    if not body and label not in LABELS:
        label, body = "text", label
    return Region(
        label=label or "text",
        markdown=headed(label, body),
        plain=unmarked(label, body),
        box_px=to_pixels(box, width_px, height_px),
        raw_span=(match.end() if body else start, end),
    )


def _text(written: str) -> str:
    cut = _CUT_OFF.search(written)
    if cut and cut["label"] in LABELS:
        written = written[: cut.start()]
    return strip_tags(_PAGE.sub("", written)).strip()
