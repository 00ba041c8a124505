"""Reads raw paragraphs from files of unpacked packages: one reader for each kind of file."""

import gzip
import os
import random
import re
import struct
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ocr.training.corpus.markup import code_blocks, html_paragraphs, plain_paragraphs
from ocr.training.corpus.packages import CorpusError

_DRAWN, _ROW, _CAPITALS = (
    24_000,
    12,
    0.15,
)  # words of a dictionary, how many a row has, share of rows in capitals


def read_text(path: Path) -> str:
    """Returns the text of a file, gunzipped if its name ends in gz or dz; UTF-8, else Latin-1."""
    data = path.read_bytes()
    if path.suffix in (".gz", ".dz"):
        data = gzip.decompress(data)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _html(path: Path) -> list[str]:
    text = read_text(path)
    if "charset=iso-8859-2" in text[:800].lower():
        text = path.read_bytes().decode("iso-8859-2", "replace")
    return html_paragraphs(text)


def _man(path: Path) -> list[str]:
    """Returns the paragraphs of a manual page as man-db sets them, each on a line of its own."""
    command = ["man", "-E", "UTF-8", "--no-hyphenation", "--no-justification", "-P", "cat", "-l", str(path)]
    wide = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "10000"}
    try:
        shown = subprocess.run(command, env=wide, capture_output=True, encoding="utf-8", errors="replace")
    except FileNotFoundError as error:
        raise CorpusError("man is missing: install man-db, which sets manual pages") from error
    return shown.stdout.splitlines()[1:-1]  # without the page's header and footer


def _plain(path: Path) -> list[str]:
    return [text for text in plain_paragraphs(read_text(path)) if not re.search(r"[|=*+~_-]{4}|\.{5}", text)]


def _fortunes(path: Path) -> list[str]:
    """Returns fortune cookies, which are separated by lines of `%`."""
    return [" ".join(cookie.split()) for cookie in re.split(r"^%.*$", read_text(path), flags=re.MULTILINE)]


def _dictionary(path: Path) -> list[str]:
    """Returns the entries of a dictd dictionary, without link braces, pronunciation and source marks."""
    text = re.sub(r"\[1913 Webster\]|\[PJC\]|\[WordNet[^]]*\]|\\[^\\\n]{1,60}\\,?", "", read_text(path))
    text = re.sub(r"\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\[[\"'`^~=,a-z<>.]{1,3}([A-Za-z]{1,2})\]|\s+\(\d{4}-\d\d-\d\d\)", r"\1", text)
    return plain_paragraphs(text)


def _messages(path: Path) -> list[str]:
    """Returns the translations of a gettext catalogue."""
    return [text for _, translation in catalogue(path.read_bytes()) for text in _message(translation)]


def _originals(path: Path) -> list[str]:
    """Returns the source messages (English) of a gettext catalogue."""
    return [text for original, _ in catalogue(path.read_bytes()) for text in _message(original)]


def _message(text: str) -> list[str]:
    """Returns the lines of a message without context and markup; none if it has placeholders."""
    text = text.split("\x04")[-1].split("\x00")[0]
    if re.search(r"[%$]\d?[a-z]|\$\(|[{}]|[_~]\w|^[a-z_ ]+\^", text):
        return []
    return [line.strip() for line in re.sub(r"<[^<>]*>", "", text).splitlines()]


def catalogue(data: bytes) -> list[tuple[str, str]]:
    """Returns the (original, translation) pairs of a compiled gettext catalogue (.mo), without its header."""
    order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
    count, originals, translations = struct.unpack_from(f"{order}3I", data, 8)
    pairs = [(_entry(data, order, originals, i), _entry(data, order, translations, i)) for i in range(count)]
    header = next((value for key, value in pairs if not key), b"")
    charset = re.search(rb"charset=([\w-]+)", header)
    encoding = charset[1].decode() if charset else "utf-8"
    return [
        (key.decode("utf-8", "replace"), value.decode(encoding, "replace")) for key, value in pairs if key
    ]


def _entry(data: bytes, order: str, table: int, index: int) -> bytes:
    length, start = struct.unpack_from(f"{order}2I", data, table + 8 * index)
    return data[start : start + length]


def _backticks(path: Path) -> list[str]:
    """Returns the prose of game data, which is in backquotes, one paragraph per quoted string."""
    return [text for text in re.findall(r"`\s*([^`]+)`", read_text(path)) if "<" not in text]


def spelled_words(path: Path) -> list[str]:
    """Returns the words of a spelling dictionary (.dic), whose encoding the .aff beside it names."""
    encoding = path.with_suffix(".aff").read_bytes().partition(b"SET ")[2].split()[0].decode()
    lines = path.read_bytes().decode(encoding, "replace").splitlines()[1:]
    return [re.split(r"/|\s", line, maxsplit=1)[0] for line in lines]


def _words(path: Path) -> list[str]:
    """Returns rows of a dictionary's words: every letter stands in about as many of them as any other."""
    words, rng = spelled_words(path), random.Random(path.name)
    counts = Counter("".join(words))
    drawn = rng.choices(
        words, [1 / min(map(counts.__getitem__, word), default=1e9) for word in words], k=_DRAWN
    )
    rows = (" ".join(drawn[start : start + _ROW]) for start in range(0, _DRAWN, _ROW))
    return [row.upper() if rng.random() < _CAPITALS else row for row in rows]


def _code(path: Path) -> list[str]:
    return code_blocks(read_text(path))


READERS: dict[str, Callable[[Path], list[str]]] = {
    "html": _html,
    "man": _man,
    "plain": _plain,
    "fortunes": _fortunes,
    "dictionary": _dictionary,
    "messages": _messages,
    "originals": _originals,
    "backticks": _backticks,
    "code": _code,
    "words": _words,
}
"""The kinds of a source in texts.yaml."""


def files(root: Path, patterns: Sequence[str]) -> Iterator[Path]:
    """Yields the regular files under `root` that match one of the glob patterns, sorted, each once."""
    seen: set[Path] = set()
    for pattern in patterns:
        for path in sorted(root.glob(pattern)):
            if path.is_file() and not path.is_symlink() and path not in seen:
                seen.add(path)
                yield path
