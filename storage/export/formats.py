"""The export formats by name: what writes each, and into what kind of files."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO, Any, Literal

from sqlite_utils import Database

from storage.export import (
    csv_tables,
    doctags,
    html,
    jsonl,
    markdown,
    parquet,
    plain_text,
    xml_formats,
)
from storage.export.figures import Place
from storage.export.rows import PageRow, export_rows
from storage.export.selection import Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format. write: writes pages to a stream and returns their number; text, unless is_binary.

    ending: what a document's file is called after its own name. one_file: what a file holds: all pages of an export,
    or a document's if so asked ("all"); a document's pages ("document"); a page ("page"). with_words: whether it says
    where words stand. write_figures: writes a document's pages with what draws their figures; None for formats without.
    embeds_figures: whether a figure's URL is to hold the figure itself. write_document: writes the pages of a document
    into a file of its own, where that differs.
    """

    write: Callable[[Iterable[PageRow], Any], int]
    ending: str
    one_file: Literal["all", "document", "page"] = "all"
    with_words: bool = False
    is_binary: bool = False
    write_figures: Callable[[Iterable[PageRow], Any, Place], int] | None = None
    embeds_figures: bool = False
    write_document: Callable[[Iterable[PageRow], Any], int] | None = None


FORMATS = {
    "jsonl": Format(write=jsonl.write, ending=".jsonl", with_words=True),
    "md": Format(
        write=markdown.write,
        ending=".md",
        write_document=markdown.write_joined,
        write_figures=markdown.write_joined,
    ),
    "txt": Format(write=plain_text.write, ending=".txt"),
    "html": Format(
        write=html.write,
        ending=".html",
        one_file="document",
        with_words=True,
        write_figures=html.write,
        embeds_figures=True,
    ),
    "csv": Format(write=csv_tables.write, ending=".csv"),
    "parquet": Format(write=parquet.write, ending=".parquet", with_words=True, is_binary=True),
    "doctags": Format(write=doctags.write, ending=".doctags", one_file="document", with_words=True),
    "docling": Format(write=doctags.write_json, ending=".docling.json", one_file="document", with_words=True),
    "hocr": Format(write=xml_formats.write_hocr, ending=".hocr", one_file="document", with_words=True),
    "alto": Format(write=xml_formats.write_alto, ending=".alto.xml", one_file="document", with_words=True),
    "page": Format(write=xml_formats.write_page, ending=".page.xml", one_file="page", with_words=True),
}


def export(db: Database, form: Format, stream: IO[Any], selection: Selection | None = None) -> int:
    """Writes the selected pages (None: all) to a stream, page by page; returns the number of pages."""
    return form.write(export_rows(db, selection, with_words=form.with_words), stream)
