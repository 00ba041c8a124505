"""Formats by a template each, page by page: HTML, and hOCR, ALTO and PAGE XML with the boxes of lines and words."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache, partial
from html import escape
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import TextIO

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from storage.export.regions import regions
from storage.export.rows import PageRow, shortfall
from storage.strings.printable import one_line

# XML 1.0 has no way to write these.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SPECIAL = re.compile('[&<>"\r\n\t]')
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_IN_ATTRIBUTES = _IN_TEXT | str.maketrans({'"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#09;"})


def written(template: str, rows: Iterable[PageRow], stream: TextIO, **values: object) -> None:
    """Writes pages, of one document or one page alone. One without a text is there, empty.

    values: what the template has besides the pages.
    """
    left = iter(rows)
    for first in left:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        head = {"path": first["path"], "superseded": first["superseded"], "program": program(), "now": now}
        pages = chain([first], left)
        stream.writelines(_templates().get_template(template).generate(head, rows=pages, **values))


write_hocr = partial(written, "hocr.xml.jinja")
write_alto = partial(written, "alto.xml.jinja")
write_page = partial(written, "page.xml.jinja")


def clean(text: str) -> str:
    """Returns the text with U+FFFD for every character that XML cannot hold."""
    return _UNWRITABLE.sub("\ufffd", text)


def program() -> str:
    """Returns this program's version; "unknown" where it is not installed."""
    try:
        return version("ocrbatch")
    except PackageNotFoundError:
        return "unknown"


@cache
def _templates() -> Environment:
    """Returns what has the templates. All that a document says goes through `text`, `attribute` or `html` in them."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # it writes quotes as HTML does, and takes twice the time
    )
    made.filters |= {
        "attribute": lambda text: _escaped(text, _IN_ATTRIBUTES),
        "html": lambda text: escape(clean(text)),
        "one_line": one_line,
        "text": lambda text: _escaped(text, _IN_TEXT),
    }
    made.globals |= {"regions": regions, "remark": _remark, "shortfall": shortfall}
    return made


def _escaped(text: str, table: dict[int, str]) -> str:
    text = clean(text)
    return text.translate(table) if _SPECIAL.search(text) else text


def _remark(row: PageRow) -> str:
    """Returns a comment that says why a page is not fine, with a line break; "" for one that is."""
    reason = shortfall(row)
    if reason is None:
        return ""
    return f"<!-- page {row['page']}: {clean(reason).replace('--', '- -').rstrip('-')} -->\n"
