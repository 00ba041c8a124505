"""Writes XML: what of a page's text XML can hold, and elements one after another into a stream."""

import re
from importlib.metadata import PackageNotFoundError, version
from xml.etree import ElementTree

from storage.export.rows import PageRow, shortfall

# XML 1.0 has no way to write these.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Element = ElementTree.Element


def clean(text: str) -> str:
    """Returns the text with U+FFFD for every character that XML cannot hold."""
    return _UNWRITABLE.sub("\ufffd", text)


def part(parent: Element, name: str, text: str | None = None, /, **attributes: object) -> Element:
    """Returns a new element in another. Attributes that are None are left out; an underscore at the end goes."""
    values = {key.rstrip("_"): clean(str(value)) for key, value in attributes.items() if value is not None}
    made = ElementTree.SubElement(parent, name, values)
    made.text = None if text is None else clean(text)
    return made


def as_text(element: Element) -> str:
    """Returns the element as XML, without a declaration."""
    return ElementTree.tostring(element, encoding="unicode")


def remark(row: PageRow) -> str:
    """Returns a comment that says why a page is not fine, with a line break; "" for one that is."""
    reason = shortfall(row)
    if reason is None:
        return ""
    return f"<!-- page {row['page']}: {clean(reason).replace('--', '- -').rstrip('-')} -->\n"


def program() -> str:
    """Returns this program's version; "unknown" where it is not installed."""
    try:
        return version("ocrbatch")
    except PackageNotFoundError:
        return "unknown"
