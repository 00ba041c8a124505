"""Makes plain text of a region's markdown, for search and for comparing with other plain text."""

import re

from ocr.types import Block

_HEADING = re.compile(r"^#{1,6}[^\S\n]+", re.MULTILINE)
_TABLE_TAG = re.compile(r"</?(?:table|thead|tbody|tfoot|tr|td|th)(?:\s[^<>]*)?>", re.IGNORECASE)


def plain_text(block: Block) -> str:
    """Returns the block's text without heading marks (titles) and table tags (a line a row, a tab a cell)."""
    if block.label in ("title", "sub_title"):
        return _HEADING.sub("", block.text)
    if block.label == "table" or "<table>" in block.text:
        return _table_text(block.text)
    return block.text


def _table_text(html: str) -> str:
    text = re.sub(r"</t[dh]>\s*(?=<t[dh][\s>])", "\t", html, flags=re.IGNORECASE)
    text = re.sub(r"</tr>\s*(?=<tr[\s>])", "\n", text, flags=re.IGNORECASE)
    return _TABLE_TAG.sub("", text).strip()
