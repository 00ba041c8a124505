"""Names what a PDF holds besides its pages: attached files, and forms of which its pages are placeholders.

Torch-free. Source: ISO 32000-2, 7.7.2 (catalogue), 7.11.4 (embedded files), 12.3.5 (collections).
"""

from collections.abc import Iterator
from typing import Any

import pymupdf

from storage.strings.printable import one_line

_MOST_NAMES, _LONGEST_NAME = 5, 60
_FORM = "it is an XFA form, whose page is only a placeholder: print it to PDF with the program that fills it"
_ERRORS = (pymupdf.mupdf.FzErrorBase, RuntimeError, ValueError, KeyError)


def left_out(document: Any) -> str:
    """Returns a sentence on what a document holds that is not read, "" for nothing. document: a pymupdf document."""
    try:
        names = list(dict.fromkeys(_names(document)))
        if not names:
            return _FORM if _is_form(document) else ""
        shown = ", ".join(f"{one_line(name)[:_LONGEST_NAME]}" for name in names[:_MOST_NAMES])
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        what = "the documents of this portfolio" if _has(document, "Collection") else "its attached files"
        return f"{what} are not read: {shown}{more}; save them as files to have them read"
    except _ERRORS:  # damaged; what can be read of the pages counts
        return ""


def instead_of_pages(document: Any, index: int) -> str:
    """Returns that sentence for the first page of a portfolio or of a form that only shows a placeholder, else ""."""
    try:
        return (
            left_out(document) if index == 0 and (_has(document, "Collection") or _is_form(document)) else ""
        )
    except _ERRORS:
        return ""


def _names(document: Any) -> Iterator[str]:
    """Yields the names of a document's attached files, and of those pinned to its pages."""
    for name in document.embfile_names():
        yield document.embfile_info(name).get("ufilename") or name
    for index in range(document.page_count):
        for xref, kind, _ in document.page_annot_xrefs(index):
            if kind == pymupdf.PDF_ANNOT_FILE_ATTACHMENT:
                keys = (document.xref_get_key(xref, f"FS/{key}") for key in ("UF", "F"))
                yield next((value for form, value in keys if form == "string" and value), "without a name")


def _is_form(document: Any) -> bool:
    """Returns whether a document's content is an XFA form: the fields that PDF readers know are not there."""
    if not _has(document, "AcroForm/XFA"):
        return False
    root = document.pdf_catalog()
    fields = document.xref_get_key(root, "AcroForm/Fields")
    is_empty = fields[0] == "null" or (fields[0] == "array" and not fields[1].strip("[] "))
    return is_empty or document.xref_get_key(root, "NeedsRendering")[1] == "true"


def _has(document: Any, key: str) -> bool:
    return bool(document.xref_get_key(document.pdf_catalog(), key)[0] != "null")
