"""HTML for reading: a document a file, whole in itself, light or dark as the reader's screen, and fit to print.

It runs nothing and loads nothing: storage/export/rendering.py escapes what documents say, and the file's own
Content-Security-Policy forbids the rest.
"""

from collections.abc import Iterable
from html import escape
from typing import TextIO

from storage.export.figures import Place, placed
from storage.export.reflow import reflowed, words_of
from storage.export.rendering import Show, rendered
from storage.export.rows import PageRow, WordRow, shortfall
from storage.export.xml_text import clean, program
from storage.strings.printable import one_line

# Confidence is the share of characters that are likely right.
DOUBTFUL_BELOW = 0.5
# How far a word of the markdown is looked for in the text, which lacks marks and may lack what only markdown has.
_REACH = 12
_STYLE = """\
:root { color-scheme: light dark; --ink: #1d1d1f; --paper: #fdfdfb; --faint: #66666b; --line: #d5d5d0;
  --note: #fff3d6; --note-ink: #6b4a00; --bad: #fde3e0; --bad-ink: #8c1d13; --link: #0b57a4; --mark: #ffe08a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e4e1; --paper: #191a1c; --faint: #a2a2a8; --line: #3c3d42;
  --note: #3b3112; --note-ink: #f3d68b; --bad: #431d1a; --bad-ink: #f6b5ae; --link: #8ec0ff; --mark: #6b5610; } }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 46rem; background: var(--paper); color: var(--ink);
  font: 1.05rem/1.55 Charter, "Bitstream Charter", "Sitka Text", Cambria, Georgia, serif; overflow-wrap: anywhere; }
h1, h2, h3, h4, h5, h6, header, .note, th { font-family: system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 .25rem; }
header p { margin: 0; color: var(--faint); font-size: .85rem; }
section { border-top: 1px solid var(--line); margin-top: 2rem; padding-top: .5rem; }
h2 { font-size: .85rem; font-weight: 600; margin: 0 0 1rem; }
h2 a { color: var(--faint); text-decoration: none; }
h2 a:hover, h2 a:focus { text-decoration: underline; }
h3 { font-size: 1.35rem; } h4 { font-size: 1.15rem; } h5, h6 { font-size: 1rem; }
h3, h4, h5, h6 { line-height: 1.3; margin: 1.5rem 0 .5rem; }
p, li, td, th { white-space: pre-line; }
p { margin: 0 0 .9rem; }
a { color: var(--link); }
.note { background: var(--note); color: var(--note-ink); padding: .5rem .75rem; border-radius: .3rem;
  font-size: .85rem; }
.failed { background: var(--bad); color: var(--bad-ink); }
mark { background: var(--mark); color: inherit; border-radius: .15rem; padding: 0 .1em; }
.table { overflow-x: auto; margin: 0 0 1rem; }
table { border-collapse: collapse; font-size: .92rem; line-height: 1.4; overflow-wrap: normal; }
th, td { border: 1px solid var(--line); padding: .3rem .55rem; text-align: start; vertical-align: top; }
caption { text-align: start; color: var(--faint); padding-bottom: .3rem; }
pre { overflow-x: auto; } code { font-size: .9em; }
.figure { color: var(--faint); font-style: italic; }
img { max-width: 100%; height: auto; background: #fff; }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --faint: #444; --line: #999; --link: #000;
  --note: #fff; --note-ink: #000; --bad: #fff; --bad-ink: #000; --mark: #fff; }
  body { max-width: none; padding: 0; font-size: 10.5pt; } .table { overflow: visible; } tr { break-inside: avoid; }
  h2, h3, h4, h5, h6 { break-after: avoid; } mark { text-decoration: underline dotted; } .note { border: 1px solid; } }
"""


def write(rows: Iterable[PageRow], stream: TextIO, place: Place | None = None) -> int:
    """Writes the pages of a document; returns their number. Each has an anchor: #page-3.

    place: has figures drawn, as data URLs; None names them.
    """
    number = 0
    for row in rows:
        if not number:
            stream.write(_head(row))
        number += 1
        stream.write(_page(row, place))
    if number:
        stream.write("</main>\n</body>\n</html>\n")
    return number


def _head(row: PageRow) -> str:
    path = one_line(row["path"])
    name = escape(clean(path.rsplit("/", 1)[-1]))
    former = " (content that this path held earlier)" if row["superseded"] else ""
    return (
        '<!DOCTYPE html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="'
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f'<meta name="generator" content="ocrbatch {escape(program())}">\n'
        f"<title>{name}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n"
        f'<header>\n<h1 dir="auto">{name}</h1>\n<p>{escape(clean(path))}{former}</p>\n</header>\n<main>\n'
    )


def _page(row: PageRow, place: Place | None) -> str:
    anchor = f"page-{row['page']}"
    reason = shortfall(row)
    kind = "note failed" if row["error"] is not None else "note"
    note = "" if reason is None else f'<p class="{kind}">{escape(clean(reason))}</p>\n'
    if row["corrected_by"] is not None:
        note += f'<p class="note">corrected by {escape(clean(one_line(row["corrected_by"])))}</p>\n'
    body, figures = placed(row, place)
    body = reflowed(body, words_of(body))
    return (
        f'<section id="{anchor}" dir="auto">\n<h2><a href="#{anchor}">Page {row["page"]}</a></h2>\n{note}'
        f"{rendered(body.strip(chr(10)), _marker(row['words']), figures)}</section>\n"
    )


def _marker(words: list[WordRow]) -> Show:
    """Returns what shows a page's words in order, the doubtful ones marked."""
    at = 0

    def show(word: str) -> str:
        nonlocal at
        for index in range(at, min(at + _REACH, len(words))):
            if words[index]["text"] == word:
                at = index + 1
                return _marked(word, words[index]["confidence"])
        return escape(word)

    return show


def _marked(word: str, confidence: float | None) -> str:
    if confidence is None or confidence >= DOUBTFUL_BELOW:
        return escape(word)
    return f'<mark title="confidence {confidence:.2f}">{escape(word)}</mark>'
