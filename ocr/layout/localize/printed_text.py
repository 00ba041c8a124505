"""What of a text's markdown stands on the page."""

import re

# Markdown that does not stand on the page: fences, rules and bars of tables, heading and list marks, HTML tags.
_NOTATION = re.compile(
    r"^```.*$|^\|?(?:\s*:?-{3,}:?\s*\|)+\s*$|^#{1,6}\s|^\||\|\s*$|(?<=\s)\|(?=\s)|\*\*|</?(?:table|thead|tbody|tr|td|th)>",
    re.MULTILINE,
)

# All of it has one of these; hardly any line of plain text does, and looking for them is ten times as quick.
_SIGNS = re.compile(r"[`|#*<]")


def as_drawn(text: str) -> str:
    """Returns the text with blanks instead of its notation."""
    return _NOTATION.sub(" ", text) if _SIGNS.search(text) else text
