"""A document's pages as one text: what a page's end cut is joined, and what belongs to the page alone is marked.

Running heads, feet and page numbers become comments, so that nothing is lost. Paragraphs go on across columns and pages
where the first part does not end a sentence and the second begins with a small letter. Words that were cut at a line's
end are whole again where the document shows how they are written. Footnotes become markdown's, at the end of their
page; captions are emphasised; bullets become lists. Pages are read as they come: only those near each other are held.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from storage.export.page_furniture import REACH, Edges, edges, num_furniture
from storage.export.reflow import CUT, FENCE, is_prose, whole, words_of

_NOT_PROSE = re.compile(r"\s*(?:#|[-*+] |\d+[.)]\s|[|<>!$\\]|```|~~~|\[\^|[•◦▪‣·]\s)")
_ENDS = re.compile(r"[.!?:;…][)\]»”’\"'*_]*(?:\[\^[^\]]+\])?$")
_GOES_ON = re.compile(r"[*_]{0,3}[^\W\d_A-Z]")
_BULLET = re.compile(r"^[•◦▪‣·]\s+", re.MULTILINE)
_CAPTION = re.compile(
    r"(?:Figure|Fig\.|Table|Tab\.|Abbildung|Abb\.|Tabelle|Figura|Tabla|Tableau|Listing|Plate|Algorithm) ?\d[\d.]*[.:]\s"
)
_FLOAT = re.compile(r"!\[|\*(?:Figure|Fig|Tab|Abb|Listing|Plate|Algorithm)|\[\^")
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_NOTE = re.compile(
    rf"(?:<sup>)?(\d{{1,2}}|[{_RAISED}]{{1,2}}|[*†‡§])(?:</sup>)?[.)]?[ \t]*([^\W\d_(“\"‘'].*)", re.DOTALL
)
_SHORT_LINE = 25
_MOST_WORDS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PageBody:
    """A page. number: its 1-based number. mark: what a comment before it says. markdown: its text, inert."""

    number: int
    mark: str
    markdown: str


@dataclass(slots=True)
class _Held:
    page: PageBody
    parts: list[str]
    edges: Edges = field(init=False)

    def __post_init__(self) -> None:
        self.edges = edges(self.parts)


def joined(pages: Iterable[PageBody]) -> Iterator[str]:
    """Yields the paragraphs, tables, lists and comments of a document, in order."""
    flow = _Flow()
    for held, others in _with_others(pages, flow.words):
        top, foot = num_furniture(held.edges, others)
        end = max(top, len(held.parts) - foot)
        furniture = [*held.parts[:top], *held.parts[end:]]
        yield from flow.page(held.page, held.parts[top:end], furniture)
    yield from flow.rest()


def _with_others(
    pages: Iterable[PageBody], words: set[str]
) -> Iterator[tuple[_Held, list[tuple[int, Edges]]]]:
    """Yields each page with the edges of those near it, and how far away they are; notes the words of those ahead."""
    before: deque[tuple[int, Edges]] = deque(maxlen=REACH)
    ahead: deque[_Held] = deque()
    coming = iter(pages)
    while True:
        while len(ahead) <= REACH and (page := next(coming, None)) is not None:
            ahead.append(_Held(page, list(_parts(page.markdown))))
            if len(words) < _MOST_WORDS:
                words |= words_of(page.markdown)
        if not ahead:
            return
        held = ahead.popleft()
        here = held.page.number
        near = [*before, *((other.page.number, other.edges) for other in ahead)]
        yield held, [(number - here, its) for number, its in near if 0 < abs(number - here) <= REACH]
        before.append((here, held.edges))


def _parts(markdown: str) -> Iterator[str]:
    """Yields what empty lines part, but not within code."""
    lines: list[str] = []
    in_code = False
    for line in markdown.split("\n"):
        if FENCE.match(line):
            in_code = not in_code
        if line.strip() or in_code:
            lines.append(line)
        elif lines:
            yield "\n".join(lines)
            lines = []
    if lines:
        yield "\n".join(lines)


class _Flow:
    """Pages in order. words: of the document as far as it was seen, in small letters. Holds what may still go on."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        self._open: list[str] = []  # a paragraph that may go on, and what floats after it

    def page(self, page: PageBody, parts: list[str], furniture: list[str]) -> Iterator[str]:
        """Yields what is done by then: all but the end of the page."""
        parts, notes = _without_notes(parts, page.number)
        made = [self._mended(_marked(part)) for part in _columns_joined(parts)]
        mark = f"<!-- {page.mark} -->"
        comments = [f"<!-- page furniture: {_quiet(part)} -->" for part in furniture]
        if self._open and made and _goes_on(self._open[0], made[0]):
            self._open[0] = self._mended(f"{self._open[0]} {mark}\n{made.pop(0)}", mark)
            self._open += comments
            if not made:  # it may go on still
                self._open += notes
                return
            yield from self.rest()
        else:
            yield from self.rest()
            yield from (mark, *comments)
        last = next((at for at in range(len(made) - 1, -1, -1) if not _FLOAT.match(made[at])), len(made))
        yield from made[:last]
        self._open = [*made[last:], *notes]

    def rest(self) -> Iterator[str]:
        """Yields what is held."""
        yield from self._open
        self._open = []

    def _mended(self, part: str, mark: str = "") -> str:
        """Makes words whole that a line's end cut, or a page's end that has this mark."""
        if mark:
            part = re.sub(
                rf"([^\W\d_]{{2,}})[-\u00ad\u2010] {re.escape(mark)}\n([^\W\d_]{{2,}})",
                lambda cut: f"{whole(cut[1], cut[2], self.words)} {mark}",
                part,
            )
        return part if FENCE.match(part) else CUT.sub(lambda cut: whole(cut[1], cut[2], self.words), part)


def _columns_joined(parts: list[str]) -> Iterator[str]:
    held: str | None = None
    for part in parts:
        if held is not None and _goes_on(held, part):
            held = f"{held}\n{part}"
        else:
            if held is not None:
                yield held
            held = part
    if held is not None:
        yield held


def _goes_on(first: str, second: str) -> bool:
    """Returns whether the second of two paragraphs continues the first."""
    if _NOT_PROSE.match(first) or _NOT_PROSE.match(second) or _CAPTION.match(first):
        return False
    last, next_ = first.rsplit("\n", 1)[-1], second.split("\n", 1)[0]
    if len(last) < _SHORT_LINE or _ENDS.search(last) or _GOES_ON.match(second) is None:
        return False
    return is_prose(last) and is_prose(next_)


def _marked(part: str) -> str:
    """Returns a paragraph with bullets as a list, and a caption emphasised."""
    if FENCE.match(part):
        return part
    if _CAPTION.match(part) and "*" not in part and "\n\n" not in part:
        return f"*{part.strip()}*"
    return _BULLET.sub("- ", part)


def _without_notes(parts: list[str], page: int) -> tuple[list[str], list[str]]:
    """Returns the paragraphs of a page with references to its footnotes, and the footnotes."""
    kept, notes = list(parts), list[str]()
    while len(kept) > 1 and (note := _NOTE.fullmatch(kept[-1])) is not None:
        marker = note[1].translate(str.maketrans(_RAISED, "0123456789"))
        name = f"[^{page}-{marker.translate(str.maketrans('*†‡§', 'abcd'))}]"
        at = _reference(kept[:-1], marker)
        if at is None:
            break
        number, start, end = at
        kept.pop()
        kept[number] = kept[number][:start] + name + kept[number][end:]
        notes.insert(0, f"{name}: {note[2]}")
    return kept, notes


def _reference(parts: list[str], marker: str) -> tuple[int, int, int] | None:
    """Returns where a marker stands raised, or right behind a word: paragraph, start, end."""
    raised = marker.translate(str.maketrans("0123456789", _RAISED))
    shapes = [rf"<sup>{re.escape(marker)}</sup>", re.escape(raised) if raised != marker else None]
    if marker.isdigit():
        shapes.append(rf"(?<=[^\W\d_]{{2}}){marker}(?=[\s.,;:)]|$)|(?<=[^\W\d_][.,;:)”\"]){marker}(?=\s|$)")
    elif marker != "*":
        shapes.append(re.escape(marker))
    for number, part in enumerate(parts):
        for shape in filter(None, shapes):
            if not FENCE.match(part) and (found := re.search(shape, part)) is not None:
                return number, found.start(), found.end()
    return None


def _quiet(text: str) -> str:
    """Returns text for within a comment, which two hyphens may end."""
    return " ".join(text.replace("--", "- -").replace(">", "&gt;").split())
