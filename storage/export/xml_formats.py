"""hOCR, ALTO and PAGE XML: regions, lines and words with their boxes, by a template each, page by page."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import TextIO

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from storage.export.regions import regions
from storage.export.rows import PageRow, shortfall
from storage.export.xml_text import clean, program
from storage.strings.printable import one_line

_SPECIAL = re.compile('[&<>"\r\n\t]')
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_IN_ATTRIBUTES = _IN_TEXT | str.maketrans({'"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#09;"})


def _write(template: str, rows: Iterable[PageRow], stream: TextIO) -> int:
    """Writes pages, of one document or one page alone; returns their number. One without a text is there, empty."""
    number = 0

    def counted(pages: Iterable[PageRow]) -> Iterator[PageRow]:
        nonlocal number
        for page in pages:
            number += 1
            yield page

    left = iter(rows)
    for first in left:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        values = {
            "path": first["path"],
            "rows": counted(chain([first], left)),
            "program": program(),
            "now": now,
        }
        stream.writelines(_templates().get_template(template).generate(values))
    return number


write_hocr = partial(_write, "hocr.xml.jinja")
write_alto = partial(_write, "alto.xml.jinja")
write_page = partial(_write, "page.xml.jinja")


@cache
def _templates() -> Environment:
    """Returns what has the templates. What a document says goes through `text` or `attribute` in them, all of it."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # it writes quotes as HTML does, and takes twice the time
    )
    made.filters |= {"attribute": _attribute, "one_line": one_line, "text": _text}
    made.globals |= {"regions": regions, "remark": _remark}
    return made


def _text(text: str) -> str:
    text = clean(text)
    return text.translate(_IN_TEXT) if _SPECIAL.search(text) else text


def _attribute(text: str) -> str:
    text = clean(text)
    return text.translate(_IN_ATTRIBUTES) if _SPECIAL.search(text) else text


def _remark(row: PageRow) -> str:
    """Returns a comment that says why a page is not fine, with a line break; "" for one that is."""
    reason = shortfall(row)
    if reason is None:
        return ""
    return f"<!-- page {row['page']}: {clean(reason).replace('--', '- -').rstrip('-')} -->\n"
