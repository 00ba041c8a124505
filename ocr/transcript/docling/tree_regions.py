"""Makes a page's regions of the tree of docling's markups, in the order written.

Each region has its text twice, all that is in its element: with markdown's signs and without.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from ocr.transcript.docling.otsl import CELLS, TagCell, table
from ocr.transcript.docling.tree import INLINE, TABLES, Element, Run
from ocr.transcript.layouts.regions import Region, box_around

# Elements of one text, and their labels.
_TEXTS = {
    "text": "text", "inline": "text", "field_item": "text", "key": "text", "value": "text", "hint": "text",
    "smiles": "text", "description": "text", "summary": "text", "footnote": "footnote", "reference": "reference",
    "page_header": "page_header", "page_footer": "page_footer",
}  # fmt: skip
_CAPTIONS = {
    "picture": "image_caption",
    "chart": "image_caption",
    "table": "table_caption",
    "code": "code_caption",
}
_BULLET = re.compile(r"\A[•·◦▪‣●○■□–—*∙-]\s++")
_NUMBER = re.compile(r"\(?+\w{1,4}+[.)]")
_EMPTY_LINES = re.compile(r"\A(?:[^\S\n]*+\n)*")
_INDENT = " " * 4
_FENCES = re.compile(r"`{3,}+")
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


def regions(root: Element, width_px: int, height_px: int) -> Iterator[Region]:
    """Yields the regions of a page of this size."""
    yield from _Regions(width_px, height_px).within(root)


class _Regions:
    def __init__(self, width_px: int, height_px: int) -> None:
        self._size_px = width_px, height_px

    def within(self, parent: Element, skipped: frozenset[str] = frozenset()) -> Iterator[Region]:
        """Yields the regions among an element's children. What lies between them is text of no known place."""
        loose: list[Element | Run] = []
        for child in parent.children:
            if isinstance(child, Run) or (child.name in INLINE and not child.shares and self._is_amid(loose)):
                loose.append(child)
            elif child.name not in skipped:
                yield from self._loose(loose)
                loose = []
                yield from self._of(child, parent)
        yield from self._loose(loose)

    def _is_amid(self, loose: Iterable[Element | Run]) -> bool:
        """Returns whether an inline element would continue text that no element holds."""
        return any(isinstance(part, Element) or part.is_text for part in loose)

    def _loose(self, parts: list[Element | Run]) -> Iterator[Region]:
        held = Element(name="text", start=0, children=parts)
        if self._is_amid(parts):
            yield self._text(held, "text")

    def _of(self, element: Element, parent: Element) -> Iterator[Region]:
        name = element.name
        if name in _TEXTS:
            yield self._text(element, _TEXTS[name])
        elif name in ("heading", "field_heading"):
            yield self._heading(element)
        elif name == "caption":
            yield self._text(element, _CAPTIONS.get(parent.name, "figure_caption"))
        elif name == "formula":
            plain = _text_of(element, marked=False)
            yield self._region(element, "equation", f"$${plain}$$" if plain else "", plain)
        elif name == "code":
            yield from self._code(element)
        elif name == "picture":
            yield self._region(element, "image", "", "", (element.start, element.end))
            yield from self.within(element)
        elif name in TABLES:
            yield from self._table(element)
        elif name in ("list", "item"):
            yield from self._list(element, 0)
        elif name in INLINE or name in CELLS:
            yield self._text(element, "text")
        else:
            yield from self.within(element)

    def _region(
        self, element: Element, label: str, markdown: str, plain: str, span: tuple[int, int] | None = None
    ) -> Region:
        return Region(
            label=label,
            markdown=markdown,
            plain=plain,
            box_px=box_around(element.shares, *self._size_px),
            raw_span=span or _span_of(element),
        )

    def _text(self, element: Element, label: str) -> Region:
        return self._region(element, label, _text_of(element, marked=True), _text_of(element, marked=False))

    def _heading(self, element: Element) -> Region:
        """Returns a title for the first level, else a sub_title. That of a form's fields counts from the second."""
        written = element.attributes.get("level", "1")
        number = int(written) if written.isdecimal() and len(written) < 3 else 1
        level = max(1, number) + (element.name == "field_heading")
        made = self._text(element, "title" if level == 1 else "sub_title")
        marked = f"{'#' * min(level, 6)} {' '.join(made.markdown.split())}" if made.markdown else ""
        return replace(made, markdown=marked)

    def _code(self, element: Element) -> Iterator[Region]:
        for caption in _captions(element):
            yield self._text(caption, "code_caption")
        # As it stands, but for captions and for empty lines around it.
        if code := _EMPTY_LINES.sub("", "".join(_verbatim(element))).rstrip():
            fence = "`" * max([3, *(len(run) + 1 for run in _FENCES.findall(code))])
            language = element.attributes.get("language", element.attributes.get("value", "")).lower()
            marked = f"{fence}{language}\n{code}\n{fence}"
            yield self._region(element, "code", marked, code)

    def _table(self, element: Element) -> Iterator[Region]:
        """Yields the table after what comes before its first cell; what else is in it follows."""
        rows: list[list[TagCell]] = [[]]
        first = next(
            (i for i, child in enumerate(element.children) if _is_cell(child)), len(element.children)
        )
        yield from self.within(replace(element, children=element.children[:first]))
        for child in element.children[first:]:
            if isinstance(child, Element) and child.name == "nl":
                rows.append([])
            elif isinstance(child, Element) and child.name in CELLS:
                rows[-1].append(TagCell(kind=child.name, text=_text_of(child, marked=False)))
        marked, plain = table([row for row in rows if row])
        cells = replace(element, children=[child for child in element.children if _is_cell(child)])
        if marked or element.shares:
            yield self._region(cells, "chart" if element.name == "chart" else "table", marked, plain)
        yield from self.within(replace(element, children=element.children[first:]), CELLS | {"nl"})

    def _list(self, element: Element, depth: int) -> Iterator[Region]:
        """Yields the items of a list and of those in it, each a region, and what else is in them."""
        if element.name == "item":
            element = Element(name="list", start=element.start, end=element.end, children=[element])
        number = 0
        for is_other, children in groupby(element.children, key=_is_no_item):
            if is_other:
                yield from self.within(replace(element, children=list(children)))
                continue
            for child in children:
                assert isinstance(child, Element), "of those that _is_no_item() leaves"
                if child.name == "list":
                    yield from self._list(child, depth + 1)
                    continue
                number += 1
                ordinal = number if element.attributes.get("class") == "ordered" else None
                yield from self._item(child, ordinal, depth)

    def _item(self, element: Element, ordinal: int | None, depth: int) -> Iterator[Region]:
        apart = frozenset({"list", "picture", *TABLES})
        plain, marked = (
            _text_of(element, marked=marked, without=apart).replace("\n", " ") for marked in (False, True)
        )
        if plain:
            own = [child for child in element.children if isinstance(child, Run) or child.name not in apart]
            # Its own locations may lack, as they are its texts'.
            shares = [share for child in own if isinstance(child, Element) for share in child.shares]
            held = replace(element, children=own, shares=element.shares or shares)
            if ordinal is None:
                marked = "- " + _BULLET.sub("", marked, count=1)
            elif not _NUMBER.match(marked):
                marked = f"{ordinal}. {marked}"
            yield self._region(held, "list", _INDENT * depth + marked, plain)
        for child in element.children:
            if isinstance(child, Element) and child.name in apart:
                yield from self._list(child, depth + 1) if child.name == "list" else self._of(child, element)


def _is_no_item(child: Element | Run) -> bool:
    return isinstance(child, Run) or child.name not in ("item", "list")


def _is_cell(child: Element | Run) -> bool:
    return isinstance(child, Element) and (child.name in CELLS or child.name == "nl")


def _captions(element: Element) -> Iterator[Element]:
    """Yields the captions in an element, wherever they are."""
    for child in element.children:
        if isinstance(child, Element):
            yield from [child] if child.name == "caption" else _captions(child)


def _text_of(element: Element, *, marked: bool, without: frozenset[str] = frozenset()) -> str:
    """Returns an element's text without white space around its lines.

    marked: with markdown's signs. without: children that are left out.
    """
    text = "".join(_flow(element, marked, without))
    lines = [" ".join(text.split())] if element.name in _ON_ONE_LINE else text.split("\n")
    return "\n".join(filter(None, map(str.strip, lines)))


def _runs(element: Element) -> Iterator[Run]:
    """Yields all text of an element."""
    for child in element.children:
        if isinstance(child, Run):
            yield child
        else:
            yield from _runs(child)


def _span_of(element: Element) -> tuple[int, int]:
    """Returns (start, end) in the output: of the element's text, or of its tags if it has none."""
    found = [run for run in _runs(element) if run.is_text]
    return (found[0].start, found[-1].end) if found else (element.start, element.end)


def _flow(element: Element, marked: bool, without: frozenset[str] = frozenset()) -> Iterator[str]:
    separator = " " if element.name in _ON_ONE_LINE else "\n"
    yield _BOXES.get(element.attributes.get("class", ""), "")
    for child in element.children:
        if isinstance(child, Run):
            yield child.text
        elif child.name == "checkbox":
            yield _BOXES.get(child.attributes.get("class", ""), _BOXES["unselected"])
        elif child.name in CELLS:
            yield from (" ", *_flow(child, marked))
        elif child.name in ("marker", "key", "value", "hint"):
            yield from (" ", *_flow(child, marked), " ")
        elif child.name in INLINE:
            yield _styled(child, marked)
        elif child.name not in without:
            yield from (separator, *_flow(child, marked), separator)


def _styled(element: Element, marked: bool) -> str:
    inner = "".join(_flow(element, marked and element.name not in ("code", "formula")))
    text = inner.strip()
    if not marked or not text:
        return inner
    before, after = _AROUND.get(element.name, ("", ""))
    return inner.replace(text, before + text + after, 1)


def _verbatim(element: Element) -> Iterator[str]:
    for child in element.children:
        if isinstance(child, Run):
            yield child.text
        elif child.name != "caption":
            yield from _verbatim(child)
