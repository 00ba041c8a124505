"""HTML for reading: a document a file, whole in itself, light or dark as the reader's screen, and fit to print.

It runs nothing and loads nothing: storage/export/rendering.py escapes what documents say, and the file's own
Content-Security-Policy forbids the rest.
"""

import re
from collections.abc import Iterable
from html import escape
from typing import TextIO

from storage.export.figures import Place, placed
from storage.export.joined import marked, without_notes
from storage.export.outline import letters
from storage.export.reflow import reflowed
from storage.export.rendering import Show, rendered
from storage.export.structure import StructuredRow, parted
from storage.export.templated import written
from storage.types import WordRow

# Confidence is the share of characters that are likely right.
DOUBTFUL_BELOW = 0.5
# How far a word of the markdown is looked for in the text, which lacks marks and may lack what only markdown has.
_REACH = 12
_FIGURE = re.compile(r'<p>(<img src="[^"]*" alt="([^"]*)">)</p>\n<p>(.*?)</p>', re.DOTALL)
# As `without_notes` writes them: with the number of the page, and their own.
_NOTE, _REFERENCE = re.compile(r"<p>\[\^(\d+-(\w+))\]: "), re.compile(r"\[\^(\d+-(\w+))\]")


def write(rows: Iterable[StructuredRow], stream: TextIO, place: Place | None = None) -> None:
    """Writes the pages of a document. Each has an anchor: #page-3.

    place: has figures drawn, as data URLs; None names them.
    """
    written("html.jinja", rows, stream, body=_body, place=place)


def _body(row: StructuredRow, place: Place | None) -> str:
    body, figures = placed(row, place)
    parts, notes = without_notes(list(parted(reflowed(body, row["known_words"]))), row["page"])
    body = rendered("\n\n".join([*map(marked, parts), *notes]), _marker(row["shown_words"]), figures)
    body = _NOTE.sub(r'<p class="footnote" id="note-\1"><sup>\2</sup> ', _FIGURE.sub(_captioned, body))
    return _REFERENCE.sub(r'<sup><a href="#note-\1">\2</a></sup>', body)


def _captioned(found: re.Match[str]) -> str:
    """Returns a figure with the paragraph after it as its caption, where that is what the figure is called."""
    figure, name, paragraph = found.groups()
    is_caption = letters(name) == letters(paragraph)
    return f"<figure>{figure}<figcaption>{paragraph}</figcaption></figure>" if is_caption else found[0]


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
