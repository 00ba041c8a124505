"""Saves what somebody wrote in place of a page's text, and takes it back.

The change is carried over to the page's markdown, so that headings and tables stay: the words of the text as read are
aligned with those of the markdown, and the words of the new text with those of the old; each change is then made in the
markdown where the old words stand.
"""

import contextlib
import getpass
import re
from collections.abc import Sequence
from itertools import groupby
from urllib.parse import parse_qsl

from rapidfuzz.distance import Levenshtein

from storage.database import Row, open_beside
from storage.records.corrections import correct, withdraw

MOST_BYTES = 8 << 20
MOST_NAME = 80
# What is no word, and as many spaces in its place: tags, a table's bars and rules, marks that begin a line.
_MARKUP = (
    re.compile(r"<[^<>\n]*>"),
    re.compile(r"^\s*\|?[\s:|-]*-{3,}[\s:|-]*$", re.MULTILINE),
    re.compile(r"(?<!\\)\|"),
    re.compile(r"^\s*#{1,6}\s", re.MULTILINE),
    re.compile(r"^\s*[-*+>]\s", re.MULTILINE),
)
_WORD = re.compile(r"\S+")
_MARKS = "*_`~"

_Span = tuple[int, int]
_Edit = tuple[int, int, str]


def form_of(body: bytes) -> dict[str, str]:
    """Returns the fields of a form. Raises: ValueError where it is none."""
    fields = dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20))
    # Browsers send line ends of their own.
    return {name: value.replace("\r\n", "\n").replace("\r", "\n") for name, value in fields.items()}


def name_of(text: str) -> str:
    """Returns a person's name as it is stored."""
    return " ".join(text.split())[:MOST_NAME] or user_name()


def user_name() -> str:
    """Returns the name of the user who started the reader."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # an account without a name
        return "somebody"


def save(database: str, page: Row, text: str, made_by: str, attempt_id: int) -> None:
    """Stores a text for the page. A text that is as read takes earlier ones back.

    attempt_id: the reading that was corrected. Raises: CorrectionError, DatabaseBusyError, DatabaseAccessError.
    """
    text = text.rstrip()
    with contextlib.closing(open_beside(database)) as db:
        read_text, read_markdown = page["read_text"], page["read_markdown"]
        if page["attempt_id"] == attempt_id and text == (read_text or "").rstrip():
            withdraw(db, page["page_id"])
            return
        markdown = None
        if read_text is not None and read_markdown is not None:
            markdown = carried(read_text, read_markdown, text)
        correct(db, page["page_id"], text, made_by=name_of(made_by), attempt_id=attempt_id, markdown=markdown)


def take_back(database: str, page_id: int) -> None:
    """Makes what was read the page's text again. Raises: DatabaseBusyError, DatabaseAccessError."""
    with contextlib.closing(open_beside(database)) as db:
        withdraw(db, page_id)


def carried(read_text: str, read_markdown: str, text: str) -> str | None:
    """Returns the markdown with the changes that lead from one text to the other; None where that is not possible."""
    old, new = read_text.split(), text.split()
    spans = _spans(read_markdown)
    names = [_plain(read_markdown[start:end]) for start, end in spans]
    places = _places([_plain(word) for word in old], names)
    edits: list[_Edit] = []
    steps = Levenshtein.opcodes(old, new)
    for is_equal, group in groupby(steps, key=lambda step: step.tag == "equal"):
        if is_equal:
            continue
        first, *others = group
        last = others[-1] if others else first
        made = _edits(
            [places.get(index) for index in range(first.src_start, last.src_end)],
            new[first.dest_start : last.dest_end],
            places.get(first.src_start - 1),
            read_markdown,
            spans,
        )
        if made is None:
            return None
        edits += made
    result = read_markdown
    for start, end, put in sorted(edits, key=lambda edit: edit[0], reverse=True):
        result = result[:start] + put + result[end:]
    # The changed markdown must say what the new text does, as nearly as the one before said what the old did.
    after = [_plain(result[start:end]) for start, end in _spans(result)]
    far = Levenshtein.distance([_plain(word) for word in new], after)
    return result if far <= Levenshtein.distance([_plain(word) for word in old], names) else None


def _spans(markdown: str) -> list[_Span]:
    for pattern in _MARKUP:
        markdown = pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), markdown)
    spans = []
    for found in _WORD.finditer(markdown):
        start, end = found.span()
        while start < end and markdown[start] in _MARKS:
            start += 1
        while start < end and markdown[end - 1] in _MARKS:
            end -= 1
        if start < end:
            spans.append((start, end))
    return spans


def _plain(word: str) -> str:
    return re.sub(r"\\(?=\W)", "", word).strip(_MARKS)


def _places(old: Sequence[str], names: Sequence[str]) -> dict[int, int]:
    """Returns, for each word of the old text that stands in the markdown too, which word of that it is."""
    places: dict[int, int] = {}
    for step in Levenshtein.opcodes(old, names):
        if step.tag == "equal":
            places.update(
                zip(range(step.src_start, step.src_end), range(step.dest_start, step.dest_end), strict=True)
            )
    return places


def _edits(
    places: Sequence[int | None],
    words: Sequence[str],
    before: int | None,
    markdown: str,
    spans: Sequence[_Span],
) -> list[_Edit] | None:
    """Returns the changes that put words in place of those at `places`; None where the place is not known.

    before: the word that stands before them, after which words are put that replace none.
    """
    if not places:
        if before is None:
            return None
        end = spans[before][1]
        while end < len(markdown) and markdown[end] in _MARKS:
            end += 1
        return [(end, end, " " + " ".join(_escaped(word, markdown, end) for word in words))]
    if None in places:
        return None
    found = [spans[place] for place in places if place is not None]
    if len(found) == len(words):
        return [
            (start, end, _escaped(word, markdown, start))
            for (start, end), word in zip(found, words, strict=True)
        ]
    (start, end), *others = found
    put = " ".join(_escaped(word, markdown, start) for word in words)
    gone = [(_space_before(markdown, first), last, "") for first, last in others]
    return [(start if words else _space_before(markdown, start), end, put), *gone]


def _space_before(markdown: str, start: int) -> int:
    """Returns where the one space before a word begins, if that may go with it: not at a line's or cell's start."""
    before = markdown[:start].rsplit("\n", 1)[-1]
    may_go = before.endswith(" ") and before.strip() and before.rstrip()[-1:] not in "|#>-*+"
    return start - 1 if may_go else start


def _escaped(word: str, markdown: str, place: int) -> str:
    """Returns a word as it stands in the markdown there: a table's cell ends at a bar."""
    line = markdown[markdown.rfind("\n", 0, place) + 1 :]
    return re.sub(r"(?<!\\)\|", r"\\|", word) if line.lstrip().startswith("|") else word
