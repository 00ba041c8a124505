"""Parses the model's output: tagged regions with boxes, or plain text.

    <|ref|>label<|/ref|><|det|>[[x1, y1, x2, y2], ...]<|/det|>text up to the next region

Coordinates run from 0 to 999 over the page. Nothing is evaluated and nothing but tags, labels and
coordinates is dropped: where a tag is broken, what it held stays as text.
Source: deepseek-ai/DeepSeek-OCR, run_dpsk_ocr_pdf.py (re_match, the replacements in markdown), which
calls eval() on the coordinates.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from ocr.transcript.untagged import paragraphs, tidy
from ocr.types import Block, ParsedText

LABELS = frozenset(
    {
        *("title", "sub_title", "text", "list", "code", "code_caption", "algorithm", "aside_text"),
        *("image", "image_caption", "figure", "figure_title", "figure_caption", "chart"),
        *("table", "table_caption", "table_footnote", "equation", "equation_block", "formula"),
        *("header", "footer", "page_header", "page_footer", "page_number", "footnote", "page_footnote"),
        *("abstract", "author", "reference", "references", "seal", "stamp", "signature"),
    }
)
_UNTAGGED = r"(?:(?!<\|)[\s\S])*"
_REGION = re.compile(
    rf"<\|ref\|>(?P<label>{_UNTAGGED})<\|/ref\|>\s*+<\|det\|>(?P<boxes>{_UNTAGGED})<\|/det\|>"
)
# Possessive quantifiers throughout: model output must not be able to make matching slow.
_NUMBER = r"\s*+\d{1,6}+(?:\.\d{0,6}+)?\s*+"
_BOX = rf"\[{_NUMBER}(?:,{_NUMBER}){{3}}\]"
_BOXES = re.compile(rf"\s*+(?:\[\s*+{_BOX}\s*+(?:,\s*+{_BOX}\s*+)*\]|{_BOX})\s*+")
# Coordinates that are cut off or miscounted, for example at the token limit; text never looks like this.
_BROKEN_BOXES = re.compile(r"\s*+\[\s*+\[[\d\s,.\-]*+(?:\]\s*+,\s*+\[[\d\s,.\-]*+)*\]?+\s*+\]?+")
_STRAY_BOXES = re.compile(rf"<\|det\|>{_BROKEN_BOXES.pattern}")
_STRAY_TAG = re.compile(r"<\|(?:/?ref|/?det|grounding)\|>")
_HEADING = re.compile(r"^#{1,6}[^\S\n]+", re.MULTILINE)
_TABLE_TAG = re.compile(r"</?(?:table|thead|tbody|tfoot|tr|td|th)(?:\s[^<>]*)?>", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Region:
    """A region as written.

    Box: 0..999 or None; body: the text after it, without stray tags; span: in the raw output.
    """

    label: str
    box: tuple[float, float, float, float] | None
    body: str
    span: tuple[int, int]


def parse(raw: str, *, width_px: int, height_px: int, page_number: int = 1) -> ParsedText:
    """Returns text, markdown and blocks of a page of width_px x height_px. Never raises.

    Output without any region: text and markdown are the output itself, blocks its paragraphs without
    boxes. With regions: a block each, in the order written; several boxes of one region become the box
    around them all, so that its text occurs once; an image is `![](images/{page_number}_{i}.jpg)` in
    markdown, i from 0. Text before the first region is kept as blocks without boxes.

    The prompt `OCR this image.` makes the model write the text itself in place of a label. A label is taken for text
    when nothing follows its region and it is no known label, or when the whole page is written that way.
    """
    starts = [match.start() for match in _REGION.finditer(raw)] + [len(raw)]
    head = raw[: starts[0]]
    regions = [_region(raw, start, end) for start, end in pairwise(starts)]
    if not regions:
        text = tidy(strip_tags(head))
        return ParsedText(text=text, markdown=text, blocks=tuple(_paragraphs(head)))
    lines_only = not any(region.body for region in regions) and any(
        region.label not in LABELS for region in regions
    )
    blocks = [
        *(replace(block, text=_replace_symbols(block.text)) for block in _paragraphs(head)),
        *(_block(region, lines_only, width_px, height_px) for region in regions),
    ]
    separator = "\n" if lines_only else "\n\n"
    return ParsedText(
        text=separator.join(filter(None, map(_plain_text, blocks))),
        markdown=separator.join(_markdown(blocks, page_number)),
        blocks=tuple(blocks),
    )


def _region(raw: str, start: int, end: int) -> _Region:
    match = _REGION.match(raw, start, end)
    assert match, "cut where the pattern was found"
    box, leftover = read_boxes(match["boxes"])
    body = _replace_symbols(tidy(leftover + "\n" + strip_tags(raw[match.end() : end])))
    span = (match.end() if body else start, end)
    return _Region(label=match["label"].strip(), box=box, body=body, span=span)


def read_boxes(text: str) -> tuple[tuple[float, float, float, float] | None, str]:
    """Returns the box around all boxes, and the rest, which is text."""
    if not _BOXES.fullmatch(text):
        broken = _BROKEN_BOXES.match(text)
        return None, text[broken.end() :] if broken else text
    numbers = [min(float(number), 999.0) for number in re.findall(r"\d+(?:\.\d*)?", text)]
    xs, ys = numbers[0::2], numbers[1::2]
    return (min(xs), min(ys), max(xs), max(ys)), ""


def strip_tags(text: str) -> str:
    """Returns text without tags that belong to no region, and without coordinates that are cut off."""
    return _STRAY_TAG.sub("", _STRAY_BOXES.sub("", text))


def _replace_symbols(text: str) -> str:
    return text.replace("\\coloneqq", ":=").replace("\\eqqcolon", "=:")


def _paragraphs(head: str) -> Iterator[Block]:
    """Yields the paragraphs before the first region. Where tags are dropped, they have no raw_span."""
    text = strip_tags(head)
    for block in paragraphs(text, 0, len(text)):
        yield block if text == head else replace(block, raw_span=None)


def _block(region: _Region, lines_only: bool, width_px: int, height_px: int) -> Block:
    label, text = region.label, region.body
    if lines_only or (not text and label not in LABELS):
        label, text = "text", region.label
    box_px = to_pixels(region.box, width_px, height_px)
    return Block(label=label or "text", text=text, box_px=box_px, raw_span=region.span)


def to_pixels(
    box: tuple[float, float, float, float] | None, width_px: int, height_px: int
) -> tuple[int, int, int, int] | None:
    """Returns a box from 0 to 999 as one in pixels."""
    if box is None:
        return None
    x0, y0, x1, y1 = box
    return (
        int(x0 / 999 * width_px),
        int(y0 / 999 * height_px),
        int(x1 / 999 * width_px),
        int(y1 / 999 * height_px),
    )


def _plain_text(block: Block) -> str:
    """Returns the block's text without heading marks (titles) and table tags (a line a row, a tab a cell)."""
    if block.label in ("title", "sub_title"):
        return _HEADING.sub("", block.text)
    if block.label != "table" and "<table>" not in block.text:
        return block.text
    text = re.sub(r"</t[dh]>\s*(?=<t[dh][\s>])", "\t", block.text, flags=re.IGNORECASE)
    text = re.sub(r"</tr>\s*(?=<tr[\s>])", "\n", text, flags=re.IGNORECASE)
    return _TABLE_TAG.sub("", text).strip()


def _markdown(blocks: list[Block], page_number: int) -> Iterator[str]:
    num_images = 0
    for block in blocks:
        if block.label == "image":
            yield f"![](images/{page_number}_{num_images}.jpg)"
            num_images += 1
        if block.text:
            yield block.text
