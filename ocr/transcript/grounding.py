"""Parses the output of DeepSeek-OCR and of what was made from it: tagged regions with boxes, or plain text.

    <|ref|>label<|/ref|><|det|>[[x1, y1, x2, y2], ...]<|/det|>text up to the next region
    <|det|>label [x0, y0, x1, y1]<|/det|>text up to the next region

The second is Unlimited-OCR's. Coordinates run from 0 to 999 over the page. Nothing is evaluated and nothing but tags,
labels and coordinates is dropped: where a tag is broken, what it held stays as text.
Source: deepseek-ai/DeepSeek-OCR, run_dpsk_ocr_pdf.py (re_match, the replacements in markdown), which
calls eval() on the coordinates; baidu/Unlimited-OCR, README.md.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from ocr.transcript.layouts.regions import LABELS, Region, headed, page_text, unmarked
from ocr.transcript.untagged import paragraphs, plain_tables, tidy
from ocr.types import Block, ParsedText

_UNTAGGED = r"(?:(?!<\|)[\s\S])*"
_REGION = re.compile(
    rf"<\|ref\|>(?P<label>{_UNTAGGED})<\|/ref\|>\s*+<\|det\|>(?P<boxes>{_UNTAGGED})<\|/det\|>"
)
_DET_REGION = re.compile(rf"<\|det\|>(?P<label>(?:(?!<\|)[^\[])*)(?=\[|<\|)(?P<boxes>{_UNTAGGED})<\|/det\|>")
# Possessive quantifiers throughout: model output must not be able to make matching slow.
_NUMBER = r"\s*+\d{1,6}+(?:\.\d{0,6}+)?\s*+"
_BOX = rf"\[{_NUMBER}(?:,{_NUMBER}){{3}}\]"
_BOXES = re.compile(rf"\s*+(?:\[\s*+{_BOX}\s*+(?:,\s*+{_BOX}\s*+)*\]|{_BOX})\s*+")
# Coordinates that are cut off or miscounted, for example at the token limit; text never looks like this.
_BROKEN_BOXES = re.compile(r"\s*+\[\s*+\[[\d\s,.\-]*+(?:\]\s*+,\s*+\[[\d\s,.\-]*+)*\]?+\s*+\]?+")
_STRAY_BOXES = re.compile(rf"<\|det\|>{_BROKEN_BOXES.pattern}")
_STRAY_TAG = re.compile(r"<\|(?:/?ref|/?det|grounding)\|>")
# A tag without an end, which is no text if a label and coordinates are all that it has.
_CUT_OFF = re.compile(r"<\|det\|>\s*+(?P<label>\w{1,20}+)\s*+(?:\[[\d\s,.]*+)?\Z")
_PAGE = re.compile(r"<PAGE>")  # between the pages of a document


def parse(raw: str, *, width_px: int, height_px: int, page_number: int = 1) -> ParsedText:
    """Returns text, markdown and blocks of a page of width_px x height_px. Never raises.

    Output without any region: text and markdown are the output itself, blocks its paragraphs without
    boxes. With regions: a block each, in the order written; several boxes of one region become the box
    around them all, so that its text occurs once; an image is `![](images/{page_number}_{i}.jpg)` in
    markdown, i from 0. Text before the first region is kept as blocks without boxes.

    The prompt `OCR this image.` makes the model write the text itself in place of a label. A label is taken for text
    when nothing follows its region and it is no known label, or when the whole page is written that way.
    """
    start, regions = _regions(raw, _REGION, _without_tags, width_px, height_px)
    text = strip_tags(raw[:start])
    before = [
        block if text == raw[:start] else replace(block, raw_span=None)  # tags were dropped from it
        for block in paragraphs(text, 0, len(text))
    ]
    if not regions:
        return ParsedText(text=tidy(text), markdown=tidy(text), blocks=tuple(before))
    lines_only = not any(region.markdown for region in regions) and any(
        region.label not in LABELS for region in regions
    )
    if lines_only:
        regions = [replace(region, label="text", markdown=region.label) for region in regions]
    head = (replace(block, text=_symbols(block.text)) for block in before)
    parts = [*map(_paragraph, head), *map(_named, regions)]
    return page_text(parts, page_number, separator="\n" if lines_only else "\n\n")


def parse_det(raw: str, *, width_px: int, height_px: int, page_number: int = 1) -> ParsedText:
    """Returns what `parse` returns, of regions whose one tag holds label and box. Headings without a sign get one."""
    start, regions = _regions(raw, _DET_REGION, _without_det, width_px, height_px)
    head = (replace(block, text=_without_det(block.text)) for block in paragraphs(raw, 0, start))
    named = (
        replace(region, markdown=headed(region.label, region.markdown)) for region in map(_named, regions)
    )
    return page_text([*(_paragraph(block) for block in head if block.text), *named], page_number)


def _regions(
    raw: str, pattern: re.Pattern[str], cleaned: Callable[[str], str], width_px: int, height_px: int
) -> tuple[int, list[Region]]:
    """Returns where the first region begins, and all of them: with the label as written, and the text after it.

    cleaned: returns that text without what is left of tags.
    """
    starts = [match.start() for match in pattern.finditer(raw)] + [len(raw)]
    found = []
    for start, end in pairwise(starts):
        match = pattern.match(raw, start, end)
        assert match, "cut where the pattern was found"
        box, leftover = _boxes(match["boxes"])
        body = cleaned(leftover + "\n" + raw[match.end() : end])
        scaled = [int(side / 999 * px) for side, px in zip(box, (width_px, height_px) * 2, strict=False)]
        found.append(
            Region(
                label=match["label"].strip(),
                markdown=body,
                plain=body,
                box_px=(scaled[0], scaled[1], scaled[2], scaled[3]) if scaled else None,
                raw_span=(match.end() if body else start, end),
            )
        )
    return starts[0], found


def _boxes(text: str) -> tuple[Sequence[float], str]:
    """Returns the box around all boxes, () for none, and the rest, which is text."""
    if not _BOXES.fullmatch(text):
        broken = _BROKEN_BOXES.match(text)
        return (), text[broken.end() :] if broken else text
    numbers = [min(float(number), 999.0) for number in re.findall(r"\d+(?:\.\d*)?", text)]
    xs, ys = numbers[0::2], numbers[1::2]
    return (min(xs), min(ys), max(xs), max(ys)), ""


def _paragraph(block: Block) -> Region:
    return Region(label="text", markdown=block.text, plain=plain_tables(block.text), raw_span=block.raw_span)


def _named(region: Region) -> Region:
    """Returns a region with its label and its plain text. What is no label, and has no text behind it, is the text."""
    label, text = region.label, region.markdown
    if not text and label not in LABELS:
        label, text = "text", label
    return replace(region, label=label or "text", markdown=text, plain=unmarked(label, text))


def strip_tags(text: str) -> str:
    """Returns text without tags that belong to no region, and without coordinates that are cut off."""
    return _STRAY_TAG.sub("", _STRAY_BOXES.sub("", text))


def _without_tags(written: str) -> str:
    return _symbols(tidy(strip_tags(written)))


def _without_det(written: str) -> str:
    cut = _CUT_OFF.search(written)
    if cut and cut["label"] in LABELS:
        written = written[: cut.start()]
    return tidy(strip_tags(_PAGE.sub("", written)))


def _symbols(text: str) -> str:
    return text.replace("\\coloneqq", ":=").replace("\\eqqcolon", "=:")
