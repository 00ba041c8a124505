"""Markdown: a heading per document, its pages in order, a comment before each; a document of its own is joined."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TextIO

from storage.export.figures import Place, placed, with_urls
from storage.export.joined import PageBody, joined
from storage.export.markup import inert
from storage.export.rows import PageRow, shortfall
from storage.strings.printable import one_line


def write(rows: Iterable[PageRow], stream: TextIO, place: Place | None = None) -> int:
    """Writes the documents; returns the number of pages. A page that is not fine states why.

    place: has figures drawn; None leaves their references as they are.
    """
    number = 0
    for (path, _, superseded), pages in groupby(
        rows, key=lambda row: (row["path"], row["sha256"], row["superseded"])
    ):
        mark = " (superseded)" if superseded else ""
        stream.write(("\n" if number else "") + f"# {_heading(path)}{mark}\n")
        for page in pages:
            stream.write(f"\n<!-- {_comment(page)} -->\n")
            body, figures = placed(page, place)
            if body.strip():
                stream.write(f"\n{with_urls(inert(body.strip(chr(10))), figures)}\n")
            number += 1
    return number


def write_joined(rows: Iterable[PageRow], stream: TextIO, place: Place | None = None) -> int:
    """Writes documents whose pages are joined into one text (storage.export.joined); otherwise as `write`."""
    number = 0

    def bodies(pages: Iterable[PageRow]) -> Iterator[PageBody]:
        nonlocal number
        for page in pages:
            number += 1
            body, figures = placed(page, place)
            yield PageBody(number=page["page"], mark=_comment(page), markdown=with_urls(inert(body), figures))

    for (path, _, superseded), pages in groupby(
        rows, key=lambda row: (row["path"], row["sha256"], row["superseded"])
    ):
        stream.write(
            ("\n" if number else "") + f"# {_heading(path)}{' (superseded)' if superseded else ''}\n"
        )
        for part in joined(bodies(pages)):
            stream.write(f"\n{part}\n")
    return number


def _heading(path: str) -> str:
    """Returns a document's heading; no name may act as markup, not even that of a table."""
    return inert(one_line(path)).replace("<", "&lt;")


def _comment(page: PageRow) -> str:
    label = f"page {page['page']}"
    reason = shortfall(page)
    # Two hyphens may end a comment, and an error message may hold anything.
    return label if reason is None else f"{label}: {reason}".replace("--", "- -").replace(">", "&gt;")
