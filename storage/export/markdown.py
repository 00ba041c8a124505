"""Markdown: a heading per document, its pages in order, a comment before each; a document of its own is joined.

A page's markdown is made inert: no renderer runs, loads or links what a document asks for. Headings, lists, emphasis
and table tags are the model's own markup and stay. Any other tag, or one with attributes, is text of the document; so
is an image from outside the export's own folder, which a renderer would load, and a link with a scheme that runs
something.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import TextIO

from storage.export.figures import Place, placed, with_urls
from storage.export.joined import furniture_comment, joined
from storage.export.rows import shortfall
from storage.export.structure import StructuredRow
from storage.strings.printable import one_line


def write(rows: Iterable[StructuredRow], stream: TextIO, place: Place | None = None) -> None:
    """Writes the documents. A page that is not fine states why.

    place: has figures drawn; None leaves their references as they are.
    """
    for page in chain.from_iterable(_documents(rows, stream)):
        stream.write(f"\n<!-- {_comment(page)} -->\n")
        stream.writelines(f"\n{furniture_comment(part)}\n" for part in page["furniture"])
        body, figures = placed(page, place)
        if body.strip():
            stream.write(f"\n{with_urls(inert(body.strip(chr(10))), figures)}\n")


def write_joined(rows: Iterable[StructuredRow], stream: TextIO, place: Place | None = None) -> None:
    """Writes documents whose pages are joined into one text (storage.export.joined); otherwise as `write`."""

    def inert_page(page: StructuredRow) -> StructuredRow:
        body, figures = placed(page, place)
        return {**page, "markdown": with_urls(inert(body), figures)}

    for pages in _documents(rows, stream):
        stream.writelines(f"\n{part}\n" for part in joined(map(inert_page, pages), _comment))


def _documents(rows: Iterable[StructuredRow], stream: TextIO) -> Iterator[Iterator[StructuredRow]]:
    """Yields the pages of each document, whose heading it writes."""
    documents = groupby(rows, key=lambda row: (row["path"], row["sha256"], row["superseded"]))
    for number, ((path, _, superseded), pages) in enumerate(documents):
        # No name may act as markup, not even that of a table.
        heading = inert(one_line(path)).replace("<", "&lt;")
        mark = " (superseded)" if superseded else ""
        stream.write(("\n" if number else "") + f"# {heading}{mark}\n")
        yield pages


def _comment(page: StructuredRow) -> str:
    label = f"page {page['page']}{', whose table is part of the one before' if page['continues'] else ''}"
    reason = shortfall(page)
    # Two hyphens may end a comment, and an error message may hold anything.
    return label if reason is None else f"{label}: {reason}".replace("--", "- -").replace(">", "&gt;")


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
