"""Converts markup to running text: pure functions from the text of a file to clean paragraphs."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import yaml

_TABLE = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
_BLOCKS, _SKIPPED, _ENGLISH = (frozenset(_TABLE[name]) for name in ("blocks", "skipped", "english"))
_LETTER = re.compile(r"[^\W\d_]")
_FOREIGN = re.compile(
    "[\u0400-\u1dff\u2c00-\ud7ff\uf900-\ufaff\ufe00-\U0010ffff\ufffd\ue000-\uf8ff\x00-\x08]"
)


class _Blocks(HTMLParser):
    """Collects the text of block elements, in order, without scripts, navigation and preformatted text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[str] = []
        self._text: list[str] = []
        self._skipping: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS or tag in _SKIPPED:
            self.flush()
        if (
            tag in _SKIPPED
            or dict(attrs).get("class") in ("navheader", "navfooter", "toc")
            or (self._skipping and tag == self._skipping[-1])
        ):
            self._skipping.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self.flush()

    def handle_endtag(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.flush()
        if self._skipping and tag == self._skipping[-1]:
            self._skipping.pop()

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self._text.append(data)

    def flush(self) -> None:
        text = " ".join("".join(self._text).split())
        if text:
            self.blocks.append(text)
        self._text.clear()


def html_paragraphs(markup: str) -> list[str]:
    """Returns the text blocks of an HTML, Mallard or DocBook document, one string a block element."""
    parser = _Blocks()
    parser.feed(markup)
    parser.close()
    parser.flush()
    return parser.blocks


def plain_paragraphs(text: str) -> list[str]:
    """Returns the paragraphs of plain text, their lines joined; a paragraph ends at a blank line."""
    return [" ".join(block.split()) for block in re.split(r"\n[ \t]*\n", text) if block.strip()]


def clean(text: str) -> str:
    """Returns `text` in NFC with single spaces and without soft hyphens and invisible characters."""
    text = unicodedata.normalize("NFC", text)
    text = re.sub("[\u00ad\u200b-\u200f\u2028-\u202e\u2060\ufeff¶\x0b\x0c]", "", text)
    return " ".join(text.split())


def keep(paragraph: str, *, english: bool, min_letters: float = 0.62) -> bool:
    """Returns whether a cleaned paragraph is running text: long enough, mostly letters, only Latin and Greek.

    english=False refuses paragraphs that are in English: translations are often unfinished.
    """
    if len(paragraph) < 40 or _FOREIGN.search(paragraph):
        return False
    if len(_LETTER.findall(paragraph)) < min_letters * len(paragraph):
        return False
    words = paragraph.lower().split()
    if len(words) < 6 or max(len(word) for word in words) > 60:
        return False
    return english or 12 * sum(word in _ENGLISH for word in words) < len(words)


def split_long(paragraph: str, longest: int = 1200) -> Iterator[str]:
    """Yields the paragraph in parts of at most about `longest` characters, cut at sentence ends."""
    piece = ""
    for sentence in re.split(r"(?<=[.!?»”\"]) +(?=[^\Wa-z\d_])", paragraph):
        if piece and len(piece) + len(sentence) > longest:
            yield piece
            piece = ""
        piece = f"{piece} {sentence}" if piece else sentence
    if piece and len(piece) <= 2 * longest:
        yield piece


def unique(paragraphs: Iterable[str], seen: set[int]) -> Iterator[str]:
    """Yields paragraphs whose letters were not seen before (case and punctuation apart); adds them to `seen`."""
    for paragraph in paragraphs:
        key = hash("".join(_LETTER.findall(paragraph.lower()))[:400])
        if key not in seen:
            seen.add(key)
            yield paragraph


def code_blocks(source: str, *, longest_line: int = 90, most_lines: int = 24) -> list[str]:
    """Returns blocks of 3 to `most_lines` source lines: indentation kept, tabs as four spaces, no blank lines.

    A run of lines ends at a blank line; neighbours are joined up to `most_lines`; a run with a longer line or with
    characters outside printable ASCII and Latin-1 is left out.
    """
    blocks: list[str] = []
    held: list[str] = []
    for run in re.split(r"\n[ \t]*\n", source.expandtabs(4)):
        lines = [line.rstrip() for line in run.strip("\n").splitlines() if line.strip()]
        sound = all(len(line) <= longest_line for line in lines) and re.fullmatch(
            r"[\x20-\x7e\xa1-\xff\n]*", run
        )
        if held and (not sound or len(held) + len(lines) > most_lines):
            blocks.append("\n".join(held))
            held = []
        if sound and len(lines) <= most_lines:
            held += lines
    if held:
        blocks.append("\n".join(held))
    return [block for block in blocks if block.count("\n") >= 2]
