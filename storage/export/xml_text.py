"""Writes XML: what of a page's text XML can hold, and elements one after another into a stream."""

import re
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from xml.etree import ElementTree

from storage.export.rows import PageRow, shortfall

# XML 1.0 has no way to write these.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

_SPECIAL = re.compile('[&<>"\r\n\t]')
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_IN_ATTRIBUTES = _IN_TEXT | str.maketrans({'"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#09;"})

Element = ElementTree.Element


def clean(text: str) -> str:
    """Returns the text with U+FFFD for every character that XML cannot hold."""
    return _UNWRITABLE.sub("\ufffd", text)


def part(parent: Element, name: str, text: str | None = None, /, **attributes: object) -> Element:
    """Returns a new element in another. Attributes that are None are left out; an underscore at the end goes."""
    values = {
        key.rstrip("_"): clean(value) if isinstance(value, str) else str(value)
        for key, value in attributes.items()
        if value is not None
    }
    made = ElementTree.SubElement(parent, name, values)
    made.text = None if text is None else clean(text)
    return made


def as_text(element: Element) -> str:
    """Returns the element as XML, without a declaration: as ElementTree does for names without namespaces.

    Half of the time of an export of words would go into its looking for those.
    """
    pieces: list[str] = []
    _write(element, pieces.append)
    return "".join(pieces)


def _write(element: Element, add: Callable[[str], None]) -> None:
    attributes = "".join([f' {key}="{_attribute(value)}"' for key, value in element.items()])
    if element.text or len(element):
        add(f"<{element.tag}{attributes}>{_text(element.text or '')}")
        for inner in element:
            _write(inner, add)
        add(f"</{element.tag}>{_text(element.tail or '')}")
    else:
        add(f"<{element.tag}{attributes} />{_text(element.tail or '')}")


def _text(text: str) -> str:
    return text.translate(_IN_TEXT) if _SPECIAL.search(text) else text


def _attribute(text: str) -> str:
    return text.translate(_IN_ATTRIBUTES) if _SPECIAL.search(text) else text


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
