"""Joins printed lines to paragraphs where only the width of the page ended them, and words that their ends cut.

Verses, addresses, code, and rows of tables keep their lines. A line goes on where its next word would not have fitted
on it, in a block whose lines begin in the middle of sentences.
"""

import re
from collections.abc import Iterator, Set
from itertools import pairwise

FENCE = re.compile(r"\s*(?:```|~~~)")
CUT = re.compile(r"([^\W\d_]{2,})[-\u00ad\u2010]\n([^\W\d_]{2,})")
# What may be a part of a word: before or after a line's end, and a page's.
_PARTED = re.compile(
    r"[^\W\d_]+[-\u00ad\u2010]\n[^\W\d_]+|[^\W\d_]+[-\u00ad\u2010]$|(?:\A|\n\n)[^\W\d_A-Z]+", re.MULTILINE
)
_WORD = re.compile(r"[^\W\d_]{2,}(?:-[^\W\d_]{2,})*")
# A line that begins something, or is no running text; one that ends where its writer ended it.
_BEGINS = re.compile(r"\s*(?:#|[-*+•◦▪‣·–] |\(?(?:\d{1,3}|[a-zA-Z])[.)]\s|[|<>!$]|```|~~~|\[\^)|.*\t")
_ENDS = re.compile(r"(?: {2}|\\|<br\s?/?>)$")
_TARGET = re.compile(r"\]\([^()]*\)|[*`\\]")
# Letters of a line: a block with shorter ones is none of prose, one with longer ones is whatever its lines begin with.
_SHORT, _LONG = 25, 50
_FULL = 0.85  # of the longest line: a line with its next word is longer
_WITHIN = 0.4  # of the lines of prose begin with a small letter
# Of a line of code or of a formula less is letters.
_PROSE, _PROSE_SHARE = re.compile(r"[^\W\d_]|[ .,;’'()-]"), 0.9


def words_of(markdown: str) -> set[str]:
    """Returns the words that stand whole in a text, in small letters."""
    return {word.casefold() for word in _WORD.findall(_PARTED.sub(" ", markdown))}


def whole(first: str, second: str, words: Set[str]) -> str:
    """Returns a cut word: with its hyphen where the words have it so, or where both parts are words."""
    if not second[0].islower():
        return f"{first}-{second}"
    joined, parted = f"{first}{second}", f"{first}-{second}"
    if joined.casefold() in words:
        return joined
    are_words = first.casefold() in words and second.casefold() in words
    return parted if parted.casefold() in words or are_words else joined


def is_small(line: str) -> bool:
    """Returns whether a line begins with a letter that is no capital, in any alphabet: a raised figure is none."""
    first = re.search(r"\w", line)
    return first is not None and first[0].isalpha() and not first[0].isupper()


def is_prose(line: str) -> bool:
    """Returns whether a line is mostly letters."""
    return len(_PROSE.findall(line)) >= _PROSE_SHARE * len(line)


def reflowed(text: str, words: Set[str]) -> str:
    """Returns a text or markdown with its paragraphs in one line each. words: of the page (`words_of`)."""
    return "\n".join(line for block in _blocks(text) for line in _joined(block, words))


def _blocks(text: str) -> Iterator[list[str]]:
    """Yields the lines between empty ones; those, and lines of code, one by one."""
    block: list[str] = []
    in_code = False
    for line in text.split("\n"):
        is_fence = FENCE.match(line) is not None
        if in_code or is_fence or not line.strip():
            yield block
            yield [line]
            block = []
        else:
            block.append(line)
        in_code ^= is_fence
    yield block


def _joined(lines: list[str], words: Set[str]) -> Iterator[str]:
    if len(lines) < 2:
        yield from lines
        return
    sizes = [len(_TARGET.sub("", line)) for line in lines]
    room = _FULL * max(sizes) if max(sizes) >= _SHORT else 0.0
    after = [line for line in lines[1:] if not _BEGINS.match(line)]
    within = bool(after) and sum(map(is_small, after)) >= _WITHIN * len(after)
    held = lines[0]
    for (line, below), size in zip(pairwise(lines), sizes, strict=False):
        is_cut = CUT.search(f"{line}\n{below}") is not None
        goes_on = room and (is_cut or size + 1 + len(below.split(maxsplit=1)[0]) > room)
        is_text = within or (max(sizes) >= _LONG and is_prose(line) and is_prose(below) and len(after) < 2)
        if not goes_on or not is_text or _BEGINS.match(below) or "\t" in line or _ENDS.search(line):
            yield held
            held = below
        else:
            held = f"{held}\n{below.lstrip()}"
            held = (
                CUT.sub(lambda cut: whole(cut[1], cut[2], words), held) if is_cut else held.replace("\n", " ")
            )
    yield held
