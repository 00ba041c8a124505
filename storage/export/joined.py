"""A document's pages as one text: what a page's end cut is joined, and what belongs to the page alone is marked.

Running heads, feet and page numbers become comments, so that nothing is lost. Paragraphs go on across columns and pages
where the first part does not end a sentence and the second begins with a small letter. Words that were cut at a line's
end are whole again where the document shows how they are written. Footnotes become markdown's, at the end of their
page; captions are emphasised; bullets become lists. Pages are read as they come: only those near each other are held.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Set

from storage.export.reflow import CUT, FENCE, is_prose, is_small, whole
from storage.export.structure import StructuredRow, parted

_NOT_PROSE = re.compile(r"\s*(?:#|[-*+] |\d+[.)]\s|[|<>!$\\]|```|~~~|\[\^|[•◦▪‣·]\s)")
_ENDS = re.compile(r"[.!?:;…][)\]»”’\"'*_]*(?:\[\^[^\]]+\])?$")
_GOES_ON = re.compile(r"[*_]{0,3}\w")
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


def joined(pages: Iterable[StructuredRow], mark_of: Callable[[StructuredRow], str]) -> Iterator[str]:
    """Yields the paragraphs, tables, lists and comments of a document, in order.

    pages: with inert markdown. mark_of: returns what the comment before a page says.
    """
    flow = _Flow()
    for page in pages:
        yield from flow.page(page, f"<!-- {mark_of(page)} -->")
    yield from flow.rest()


class _Flow:
    """Pages in order. Holds what may still go on."""

    def __init__(self) -> None:
        self._words: Set[str] = frozenset()
        self._open: list[str] = []  # a paragraph that may go on, and what floats after it

    def page(self, page: StructuredRow, mark: str) -> Iterator[str]:
        """Yields what is done by then: all but the end of the page."""
        self._words = page["known_words"]
        parts, notes = without_notes(list(parted(page["markdown"] or "")), page["page"])
        made = [self._mended(marked(part)) for part in _columns_joined(parts)]
        comments = [furniture_comment(part) for part in page["furniture"]]
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
                lambda cut: f"{whole(cut[1], cut[2], self._words)} {mark}",
                part,
            )
        return part if FENCE.match(part) else CUT.sub(lambda cut: whole(cut[1], cut[2], self._words), part)


def _columns_joined(parts: list[str]) -> list[str]:
    made = list[str]()
    for part in parts:
        if made and _goes_on(made[-1], part):
            made[-1] += f"\n{part}"
        else:
            made.append(part)
    return made


def _goes_on(first: str, second: str) -> bool:
    """Returns whether the second of two paragraphs continues the first."""
    if _NOT_PROSE.match(first) or _NOT_PROSE.match(second) or _CAPTION.match(first):
        return False
    last, next_ = first.rsplit("\n", 1)[-1], second.split("\n", 1)[0]
    if len(last) < _SHORT_LINE or _ENDS.search(last) or _GOES_ON.match(second) is None:
        return False
    return is_small(second) and is_prose(last) and is_prose(next_)


def marked(part: str) -> str:
    """Returns a paragraph with bullets as a list, and a caption emphasised."""
    if FENCE.match(part):
        return part
    if _CAPTION.match(part) and "*" not in part and "\n\n" not in part:
        return f"*{part.strip()}*"
    return _BULLET.sub("- ", part)


def without_notes(parts: list[str], page: int) -> tuple[list[str], list[str]]:
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


def furniture_comment(part: str) -> str:
    """Returns what belongs to a page alone as a comment, which two hyphens may not end."""
    return f"<!-- page furniture: {' '.join(part.replace('--', '- -').replace('>', '&gt;').split())} -->"
