"""Regions of a page, whichever format they were written in, and the text that they make together."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ocr.transcript.untagged import plain_tables
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
# What document models call a region, where LABELS has another word for it.
_LABELS = {
    "caption": "figure_caption",
    "chart_title": "figure_title",
    "display_formula": "equation",
    "doc_title": "title",
    "figure": "image",
    "formula": "equation",
    "heading": "sub_title",
    "interline_equation": "equation",
    "isolate_formula": "equation",
    "list_item": "list",
    "number": "page_number",
    "paragraph": "text",
    "paragraph_title": "sub_title",
    "picture": "image",
    "plain_text": "text",
    "section_header": "sub_title",
    "vision_footnote": "footnote",
}
_HEADINGS = {"title": "# ", "sub_title": "## "}
_SIGN = re.compile(r"^#{1,6}[^\S\n]++", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A region as read. markdown, plain: its text with and without markup. box_px, raw_span: as in ocr.types.Block."""

    label: str
    markdown: str
    plain: str
    box_px: tuple[int, int, int, int] | None = None
    raw_span: tuple[int, int] | None = None


def page_text(regions: Iterable[Region], page_number: int, separator: str = "") -> ParsedText:
    """Returns the page's text. An image is `![](images/{page_number}_{i}.jpg)` in markdown, i from 0.

    separator: what stands between regions; "" for an empty line, but between items of a list.
    """
    text = markdown = previous = ""
    blocks: list[Block] = []
    num_images = 0
    for region in regions:
        between = separator or ("\n" if region.label == previous == "list" else "\n\n")
        if region.label == "image":
            markdown = _joined(markdown, f"![](images/{page_number}_{num_images}.jpg)", "\n\n")
            num_images += 1
        markdown = _joined(markdown, region.markdown, between)
        text = _joined(text, region.plain, between)
        blocks.append(
            Block(
                label=region.label,
                text=region.markdown,
                box_px=region.box_px,
                raw_span=region.raw_span,
            )
        )
        previous = region.label
    return ParsedText(text=text, markdown=markdown, blocks=tuple(blocks))


def _joined(before: str, after: str, separator: str) -> str:
    return before + separator + after if before and after else before + after


def box_around(shares: Sequence[float], width_px: int, height_px: int) -> tuple[int, int, int, int] | None:
    """Returns the box around boxes of x0, y0, x1, y1 from 0 to 1 over the page; None where numbers are missing."""
    if not shares or len(shares) % 4:
        return None
    xs = [min(max(share, 0.0), 1.0) for share in shares[0::2]]
    ys = [min(max(share, 0.0), 1.0) for share in shares[1::2]]
    return (
        round(min(xs) * width_px),
        round(min(ys) * height_px),
        round(max(xs) * width_px),
        round(max(ys) * height_px),
    )


def label_of(name: str) -> str | None:
    """Returns the label for a model's name of a kind of region; None where it is none, but a text in its place."""
    words = "_".join(name.lower().replace("-", " ").split())
    label = _LABELS.get(words, words)
    return label if label in LABELS else None


def headed(label: str, text: str) -> str:
    """Returns a region's text as markdown: with the sign of a heading if it is one and has none."""
    if label not in _HEADINGS or not text or text.startswith("#"):
        return text
    return _HEADINGS[label] + " ".join(text.split())


def unmarked(label: str, text: str) -> str:
    """Returns a region's text without the sign of a heading, if it is one, and with plain tables."""
    return plain_tables(_SIGN.sub("", text) if label in _HEADINGS else text)
