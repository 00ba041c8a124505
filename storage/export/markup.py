"""Makes a page's markdown inert: no renderer runs, loads or links what a document asks for.

Headings, lists, emphasis and table tags are the model's own markup and stay. Any other tag, or one with attributes, is
text of the document; so is an image from outside the export's own folder, which a renderer would load, and a link with
a scheme that runs something.
"""

import re
from bisect import bisect_left

_ALLOWED = r"table|thead|tbody|tfoot|tr|td|th|caption|br|sub|sup|b|i|u|em|strong|center"
_SPAN = r"\s+(?:col|row)span\s*=\s*[\"']?\d{1,4}[\"']?"
# Where CommonMark and HTML recognise the start of a tag, comment or instruction.
_OPENING = re.compile(rf"<(?!/?(?:{_ALLOWED})(?:{_SPAN}){{0,2}}\s*/?>)(?=[A-Za-z/!?])", re.IGNORECASE)
# A character reference would be decoded after the text was searched for everything listed here.
_REFERENCE = re.compile(r"&(?=#\d|#[xX][\dA-Fa-f]|[A-Za-z][A-Za-z\d]*;)")
_OWN_IMAGE = r"\[\]\(images/\d+_\d+\.jpg\)"
_IMAGE = re.compile(rf"!(?=\[)(?!{_OWN_IMAGE})")
# A target, except those with a scheme that only shows a page; it has another if a colon is the first of these in it,
# however far on, and whatever characters that browsers drop hide it.
_LINK = re.compile(r"\](?=[(:](\s*+<?+)(?!(?:https?|mailto):))", re.IGNORECASE)
_AFTER_SCHEME = re.compile(r"[:/?#)>\n]")


def inert(markdown: str) -> str:
    """Returns the markdown with everything beyond text, tables and layout written as text."""
    text = _OPENING.sub("&lt;", _REFERENCE.sub("&amp;", markdown))
    # References, not backslashes: a backslash in front would cancel these.
    text = _IMAGE.sub("&#33;", text)
    ends = [found.start() for found in _AFTER_SCHEME.finditer(text)]

    def written(link: re.Match[str]) -> str:
        place = bisect_left(ends, link.end(1))
        return "&#93;" if place < len(ends) and text[ends[place]] == ":" else "]"

    return _LINK.sub(written, text)
