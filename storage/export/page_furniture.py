"""Running heads, running feet and page numbers: what stands at the same edge of several pages of a document."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

# Most pages apart, so that heads of left and of right pages count, and those of a chapter.
REACH = 6
_DEEP, _LONG, LARGER = 2, 200, 1.3
_MARKS = re.compile(r"[#*_>|]+|</?[a-z][^<>]{0,40}>")
_NUMBER = re.compile(r"(?<![^\W_])(?:\d{1,4}|[ivxlc]{1,7}|[IVXLC]{1,7})(?![^\W_])")
_DASHES = r"[-–—\s\[\]().|]*"
_ALONE = re.compile(rf"{_DASHES}(?:(?:page|seite|página|pagina)\s+)?#(?:\s*(?:/|of|von|de|di)\s*#)?{_DASHES}")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """How a paragraph looks. label: of its block, None if unknown. height: of its lines, of the page's width; or 0.

    is_large: its type is larger than that of the text. is_repeated: it repeats a heading of the document, smaller.
    """

    label: str | None = None
    height: float = 0.0
    is_large: bool = False
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class _Edge:
    """What stands at an edge. key: without numbers and marks. numbers: in it, in order. seen: how it looks."""

    key: str
    numbers: tuple[int, ...]
    seen: Seen


@dataclass(slots=True)
class Edges:
    """The outermost paragraphs of a page, at its top and at its foot, each from the outside."""

    top: list[_Edge] = field(default_factory=list)
    foot: list[_Edge] = field(default_factory=list)


def edges(parts: Sequence[str], seen: Sequence[Seen]) -> Edges:
    """Returns the edges of a page with these paragraphs. seen: how each looks."""
    half, pairs = len(parts) // 2, list(zip(parts, seen, strict=True))
    return Edges(list(_edges(pairs[: len(parts) - half])), list(_edges(pairs[::-1][:half])))


def num_furniture(page: Edges, others: Sequence[tuple[int, Edges]]) -> tuple[int, int]:
    """Returns how many paragraphs at the top and at the foot are furniture.

    others: pages near it, and how far after it each is (before it: negative).
    """
    top = _count(page.top, [(apart, its.top) for apart, its in others])
    return top, _count(page.foot, [(apart, its.foot) for apart, its in others])


def _edges(parts: Sequence[tuple[str, Seen]]) -> Iterator[_Edge]:
    for part, seen in parts[:_DEEP]:
        if "\n" in part or len(part) > _LONG or part.startswith(("![", "<table")):
            return
        text = " ".join(_MARKS.sub(" ", part).split())
        # Numbers of captions and of chapters may go with the pages' by chance.
        has_own = seen.is_large or (seen.label or "").endswith("caption")
        numbers = () if has_own else tuple(_value(number) for number in _NUMBER.findall(text))
        yield _Edge((text if seen.is_large else _NUMBER.sub("#", text)).casefold(), numbers, seen)


def _count(edge: Sequence[_Edge], others: Sequence[tuple[int, Sequence[_Edge]]]) -> int:
    """Returns how many from the outside are furniture."""
    return next((place for place, one in enumerate(edge) if not _recurs(one, others)), len(edge))


def _recurs(one: _Edge, others: Sequence[tuple[int, Sequence[_Edge]]]) -> bool:
    """Returns whether it is on another page with a number that goes with the page, or on two others as it is.

    What was read as furniture need only be on one other; a page's number, and what repeats a heading, on none.
    """
    if not one.key:
        return False
    if one.seen.is_repeated or (one.seen.label == "page_number" and _ALONE.fullmatch(one.key)):
        return True
    height = one.seen.height / LARGER  # what is printed larger than it recurs is a title
    same = [
        (apart, other)
        for apart, its in others
        for other in its
        if other.key == one.key and (other.seen.height >= height or not other.seen.height)
    ]
    if any(
        number - before == apart
        for apart, other in same
        for before, number in zip(one.numbers, other.numbers, strict=False)
    ):
        return True
    least = 1 if one.seen.label in ("page_header", "page_footer", "page_number") else 2
    return not _ALONE.fullmatch(one.key) and len({apart for apart, _ in same}) >= least


def _value(number: str) -> int:
    if number.isdigit():
        return int(number)
    values = [_ROMAN[letter] for letter in number.lower()]
    return sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True))
