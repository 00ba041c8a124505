"""Removes the markdown of a text that is not printed on the page."""

import re

# Markdown that is not printed: fences, rules and bars of tables, heading marks, bold, HTML tables' tags.
_NOTATION = re.compile(
    r"^```.*$|^\|?(?:\s*:?-{3,}:?\s*\|)+\s*$|^#{1,6}\s|^\||\|\s*$|(?<=\s)\|(?=\s)|\*\*|</?(?:table|thead|tbody|tr|td|th)>",
    re.MULTILINE,
)

# All notation has one of these; hardly any line of plain text does, and searching for them is ten times as fast.
_SIGNS = re.compile(r"[`|#*<]")


def as_drawn(text: str) -> str:
    """Returns the text with blanks in place of its notation."""
    return _NOTATION.sub(" ", text) if _SIGNS.search(text) else text
