"""The export formats by name: what writes each, and into what kind of files."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, Literal, TextIO

from sqlite_utils import Database

from storage.export import csv_tables, doctags, html, markdown, parquet, templated
from storage.export.outline import Outline
from storage.export.rows import PageRow, export_rows, shortfall
from storage.export.selection import Selection
from storage.export.structure import structured
from storage.strings.printable import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format. write: writes pages to a stream; text, unless is_binary.

    ending: what a document's file is called after its own name. one_file: what a file holds: all pages of an export,
    or a document's if so asked ("all"); a document's pages ("document"); a page ("page"). with_words: whether it says
    where words stand. write_document: writes the pages of a document into a file of its own, where that differs.
    figures: whether they are files beside a document's or within it, by a URL that holds the figure itself; what writes
    a document is then also given what draws them. None for formats without. is_structured: whether it is given pages as
    their documents' structure has them (storage.export.structure).
    """

    write: Callable[..., None]
    ending: str
    one_file: Literal["all", "document", "page"] = "all"
    with_words: bool = False
    is_binary: bool = False
    write_document: Callable[..., None] | None = None
    figures: Literal["beside", "within"] | None = None
    is_structured: bool = False

    def pages(self, db: Database, rows: Iterable[PageRow]) -> Iterable[PageRow]:
        """Returns the pages as what writes them is given them."""

        def outline(row: PageRow) -> Outline:
            whole = Selection(path=row["path"], superseded=row["superseded"])
            others = export_rows(db, whole, with_words=True)  # all pages of the document are looked at
            return Outline.of(other for other in others if other["sha256"] == row["sha256"])

        return structured(rows, outline) if self.is_structured else rows


class Counted:
    """Pages on their way to what writes them. number: of those that were taken so far."""

    def __init__(self, rows: Iterable[PageRow]) -> None:
        self._rows, self.number = rows, 0

    def __iter__(self) -> Iterator[PageRow]:
        for row in self._rows:
            self.number += 1
            yield row


def _write_jsonl(rows: Iterable[PageRow], stream: TextIO) -> None:
    """Writes JSON Lines: an object per page with all that the database holds about its current attempt."""
    stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _write_text(rows: Iterable[PageRow], stream: TextIO) -> None:
    """Writes plain text: a line naming file and page before each; one that is not fine says why in square brackets."""
    for number, row in enumerate(rows):
        mark = " (superseded)" if row["superseded"] else ""
        stream.write(
            ("\n" if number else "") + f"==== {one_line(row['path'])}, page {row['page']}{mark} ====\n"
        )
        reason = shortfall(row)
        body = (row["text"] or "").strip("\n")
        stream.write("".join(f"{part}\n" for part in (f"[{reason}]" if reason else "", body) if part))


_document = partial(Format, one_file="document", with_words=True)
_structured = partial(_document, is_structured=True)
FORMATS = {
    "jsonl": Format(write=_write_jsonl, ending=".jsonl", with_words=True),
    "md": Format(
        write=markdown.write,
        write_document=markdown.write_joined,
        ending=".md",
        figures="beside",
        is_structured=True,
    ),
    "txt": Format(write=_write_text, ending=".txt"),
    "html": _structured(write=html.write, ending=".html", figures="within"),
    "csv": Format(write=csv_tables.write, ending=".csv"),
    "parquet": Format(write=parquet.write, ending=".parquet", with_words=True, is_binary=True),
    "doctags": _structured(write=doctags.write, ending=".doctags"),
    "docling": _structured(write=doctags.write_json, ending=".docling.json"),
    "hocr": _document(write=templated.write_hocr, ending=".hocr"),
    "alto": _document(write=templated.write_alto, ending=".alto.xml"),
    "page": Format(write=templated.write_page, ending=".page.xml", one_file="page", with_words=True),
}


def export(db: Database, form: Format, stream: IO[Any], selection: Selection | None = None) -> int:
    """Writes the selected pages (None: all) to a stream, page by page; returns the number of pages."""
    rows = Counted(export_rows(db, selection, with_words=form.with_words))
    form.write(form.pages(db, rows), stream)
    return rows.number
