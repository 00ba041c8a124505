"""Builds the tree of elements of docling's markups, whatever is missing or out of place in it.

Nothing but tags is dropped: what is no tag where it stands is text. Elements that are not closed end where others must
begin, at the latest with the output.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from ocr.transcript.docling.otsl import CELLS

TABLES = frozenset({"table", "chart"})
_STYLES = frozenset(
    {"bold", "italic", "underline", "strikethrough", "superscript", "subscript", "handwriting", "rtl"}
)
# Elements of running text, which may hold only INLINE ones and a caption.
LEAVES = (
    _STYLES
    | {"text", "heading", "field_heading", "caption", "footnote", "page_header", "page_footer", "formula", "code"}
    | {"reference", "marker", "hint", "description", "summary", "content", "smiles"}
)  # fmt: skip
INLINE = _STYLES | {"formula", "code", "content", "checkbox", "marker", "key", "value", "hint", "smiles"}
# All else within code is code, such as a tag of HTML.
_IN_CODE = _STYLES | {"code", "content", "location", "language", "label", "caption", "cdata", "property"}
_DEEPEST = 40
Kind = Literal["open", "close", "empty"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A tag in the output. name: the element's, the same in both markups.

    "cdata" is text as it stands, "property" of no concern. "divider" begins an "item", which ends with the next one.
    attributes: "share" of a "location" is from 0 to 1 over the page.
    """

    name: str
    start: int
    end: int
    kind: Kind = "open"
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Text between tags: the characters that it stands for. start, end: in the output. is_text: is no white space."""

    text: str
    start: int
    end: int
    is_text: bool


@dataclass(slots=True, kw_only=True)
class Element:
    """An element. shares: its locations. start, end: in the output, its tags included."""

    name: str
    start: int
    end: int = 0
    attributes: dict[str, str] = field(default_factory=dict)
    shares: list[float] = field(default_factory=list)
    children: "list[Element | Run]" = field(default_factory=list)


def tree(raw: str, tags: Iterable[Tag], characters: Callable[[str], str] = str) -> Element:
    """Returns the output as one element "page". characters: returns what text stands for, with entities say."""
    builder = _Builder(characters)
    at = 0
    for tag in tags:
        if builder.takes(tag):
            builder.text(raw[at : tag.start], at)
            builder.tag(tag)
            at = tag.end
    builder.text(raw[at:], at)
    return builder.ended(len(raw))


class _Builder:
    def __init__(self, characters: Callable[[str], str]) -> None:
        self._characters = characters
        self._open = [Element(name="page", start=0)]

    def takes(self, tag: Tag) -> bool:
        """Returns whether it is a tag where it stands."""
        name = self._open[-1].name
        if tag.name in ("class", "language"):
            return name in (("picture", "chart") if tag.name == "class" else ("code",))
        if tag.name in ("code", "content") and tag.name == name:
            return tag.kind == "close"
        return name not in ("code", "content") or tag.name in _IN_CODE

    def text(self, raw: str, start: int, *, is_literal: bool = False) -> None:
        if raw:
            text = raw if is_literal else self._characters(raw)
            run = Run(text=text, start=start, end=start + len(raw), is_text=bool(raw.strip()))
            self._open[-1].children.append(run)

    def tag(self, tag: Tag) -> None:
        if tag.name == "property":
            return
        if tag.name == "cdata":
            self.text(tag.attributes["text"], tag.start, is_literal=True)
        elif tag.name == "location":
            if "share" in tag.attributes:
                self._open[-1].shares.append(float(tag.attributes["share"]))
        elif tag.name in ("class", "language", "label"):
            self._open[-1].attributes.update(tag.attributes)
        elif tag.kind == "close":
            within = [depth for depth, element in enumerate(self._open) if element.name == tag.name]
            if within and within[-1] > 0:
                self._close_from(within[-1], tag.end)
        else:
            self._begin(tag)

    def _begin(self, tag: Tag) -> None:
        if tag.name in CELLS or tag.name == "nl":
            self._close_within(TABLES, "table", tag)
        elif tag.name == "divider":
            self._close_within(frozenset({"list"}), "list", tag)
        elif tag.name not in INLINE:
            while self._open[-1].name in LEAVES and (
                tag.name != "caption" or self._open[-1].name == "caption"
            ):
                self._pop(tag.start)
        name = "item" if tag.name == "divider" else tag.name
        element = Element(name=name, start=tag.start, end=tag.end, attributes=tag.attributes)
        if len(self._open) > _DEEPEST:
            return
        self._open[-1].children.append(element)
        # Tags of cells and of list items may be written as empty: what follows is theirs all the same.
        if name != "nl" and (tag.kind == "open" or name in CELLS or name == "item"):
            self._open.append(element)

    def _close_within(self, names: frozenset[str], default: str, tag: Tag) -> None:
        """Closes what is open in the innermost of these elements; without one, begins one."""
        within = [depth for depth, element in enumerate(self._open) if element.name in names]
        if within:
            self._close_from(within[-1] + 1, tag.start)
        elif len(self._open) < _DEEPEST:
            self._begin(Tag(name=default, start=tag.start, end=tag.start))

    def _close_from(self, depth: int, end: int) -> None:
        while len(self._open) > depth:
            self._pop(end)

    def _pop(self, end: int) -> None:
        self._open.pop().end = end

    def ended(self, end: int) -> Element:
        self._close_from(1, end)
        self._open[0].end = end
        return self._open[0]
