"""What of a text's markdown stands on the page."""

import re

# Markdown that does not stand on the page: fences, rules and bars of tables, heading and list marks, HTML tags.
_NOTATION = re.compile(
    r"^```.*$|^\|?(?:\s*:?-{3,}:?\s*\|)+\s*$|^#{1,6}\s|^\||\|\s*$|(?<=\s)\|(?=\s)|\*\*|</?(?:table|thead|tbody|tr|td|th)>",
    re.MULTILINE,
)


def as_drawn(text: str) -> str:
    """The text with blanks instead of its notation."""
    return _NOTATION.sub(" ", text)
