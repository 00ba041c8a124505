"""Markdown: a heading a document, its pages in order, a comment before each."""

from collections.abc import Iterable
from itertools import groupby
from typing import TextIO

from storage.export.rows import PageRow, one_line, shortfall


def write(rows: Iterable[PageRow], stream: TextIO) -> int:
    """Writes the documents; returns the number of pages. A page that is not fine says why."""
    number = 0
    for path, pages in groupby(rows, key=lambda row: row["path"]):
        stream.write(("\n" if number else "") + f"# {one_line(path)}\n")
        for page in pages:
            stream.write(f"\n<!-- {_comment(page)} -->\n")
            body = page["markdown"] or page["text"] or ""
            if body.strip():
                stream.write(f"\n{body.strip(chr(10))}\n")
            number += 1
    return number


def _comment(page: PageRow) -> str:
    label = f"page {page['page']}"
    reason = shortfall(page)
    # Two hyphens may end a comment; an error's message may hold anything.
    return label if reason is None else f"{label}: {reason}".replace("--", "- -").replace(">", "&gt;")
