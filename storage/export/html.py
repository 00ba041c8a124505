"""HTML for reading: a document a file, whole in itself, light or dark as the reader's screen, and fit to print.

It runs nothing and loads nothing: storage/export/rendering.py escapes what documents say, and the file's own
Content-Security-Policy forbids the rest.
"""

from collections.abc import Iterable
from html import escape
from typing import TextIO

from storage.export.figures import Place, placed
from storage.export.reflow import reflowed
from storage.export.rendering import Show, rendered
from storage.export.structure import StructuredRow
from storage.export.templated import written
from storage.types import WordRow

# Confidence is the share of characters that are likely right.
DOUBTFUL_BELOW = 0.5
# How far a word of the markdown is looked for in the text, which lacks marks and may lack what only markdown has.
_REACH = 12


def write(rows: Iterable[StructuredRow], stream: TextIO, place: Place | None = None) -> None:
    """Writes the pages of a document. Each has an anchor: #page-3.

    place: has figures drawn, as data URLs; None names them.
    """
    written("html.jinja", rows, stream, body=_body, place=place)


def _body(row: StructuredRow, place: Place | None) -> str:
    body, figures = placed(row, place)
    body = reflowed(body, row["known_words"])
    return rendered(body.strip("\n"), _marker(row["shown_words"]), figures)


def _marker(words: list[WordRow]) -> Show:
    """Returns what shows a page's words in order, the doubtful ones marked."""
    at = 0

    def show(word: str) -> str:
        nonlocal at
        for index in range(at, min(at + _REACH, len(words))):
            if words[index]["text"] == word:
                at = index + 1
                confidence = words[index]["confidence"]
                if confidence is not None and confidence < DOUBTFUL_BELOW:
                    return f'<mark title="confidence {confidence:.2f}">{escape(word)}</mark>'
                break
        return escape(word)

    return show
