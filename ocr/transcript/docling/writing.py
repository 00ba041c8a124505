"""Writes the text of an element of docling's markups, all that is in it, with markdown's signs and without."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ocr.transcript.docling.otsl import CELLS
from ocr.transcript.docling.tree import INLINE, Element, Run
from ocr.transcript.untagged.entities import unescaped

_AROUND = {
    "bold": ("**", "**"),
    "italic": ("*", "*"),
    "strikethrough": ("~~", "~~"),
    "superscript": ("<sup>", "</sup>"),
    "subscript": ("<sub>", "</sub>"),
    "formula": ("$", "$"),
    "code": ("`", "`"),
}
_BOXES = {"selected": "☑ ", "unselected": "☐ "}
_ON_ONE_LINE = frozenset({"inline", "field_item"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """How texts are written. markdown: with its signs. entities: XML's stand for characters."""

    markdown: bool
    entities: bool


def text_of(element: Element, writing: Writing, without: frozenset[str] = frozenset()) -> str:
    """Returns an element's text without white space around its lines. without: children that are left out."""
    text = "".join(_flow(element, writing, without))
    lines = [" ".join(text.split())] if element.name in _ON_ONE_LINE else text.split("\n")
    return "\n".join(filter(None, map(str.strip, lines)))


def code_of(element: Element, writing: Writing) -> str:
    """Returns the text of a code element as it stands, but for its captions and for empty lines around it."""
    text = "".join(_verbatim(element, writing))
    first = re.match(r"(?:[^\S\n]*+\n)*", text)
    return text[first.end() if first else 0 :].rstrip()


def characters(run: Run, writing: Writing) -> str:
    """Returns the characters that a run stands for."""
    if not writing.entities or run.is_literal:
        return run.text
    return unescaped(run.text)


def runs(element: Element) -> Iterator[Run]:
    """Yields all text of an element."""
    for child in element.children:
        if isinstance(child, Run):
            yield child
        else:
            yield from runs(child)


def span_of(element: Element) -> tuple[int, int]:
    """Returns (start, end) in the output: of the element's text, or of its tags if it has none."""
    found = [run for run in runs(element) if run.text.strip()]
    if not found:
        return element.start, element.end
    return found[0].start, found[-1].start + len(found[-1].text)


def _flow(element: Element, writing: Writing, without: frozenset[str]) -> Iterator[str]:
    separator = " " if element.name in _ON_ONE_LINE else "\n"
    yield _BOXES.get(element.attributes.get("class", ""), "")
    for child in element.children:
        if isinstance(child, Run):
            yield characters(child, writing)
        elif child.name == "checkbox":
            yield _BOXES.get(child.attributes.get("class", ""), _BOXES["unselected"])
        elif child.name in CELLS:
            yield from (" ", *_flow(child, writing, frozenset()))
        elif child.name in ("marker", "key", "value", "hint"):
            yield from (" ", *_flow(child, writing, frozenset()), " ")
        elif child.name in INLINE:
            yield _styled(child, writing)
        elif child.name not in without:
            yield from (separator, *_flow(child, writing, frozenset()), separator)


def _styled(element: Element, writing: Writing) -> str:
    is_verbatim = element.name in ("code", "formula")
    inner = "".join(_flow(element, replace(writing, markdown=False) if is_verbatim else writing, frozenset()))
    text = inner.strip()
    if not writing.markdown or not text:
        return inner
    before, after = _AROUND.get(element.name, ("", ""))
    return inner.replace(text, before + text + after, 1)


def _verbatim(element: Element, writing: Writing) -> Iterator[str]:
    for child in element.children:
        if isinstance(child, Run):
            yield characters(child, writing)
        elif child.name != "caption":
            yield from _verbatim(child, writing)
