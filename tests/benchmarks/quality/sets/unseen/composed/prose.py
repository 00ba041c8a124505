"""Takes running text for composed pages out of git mirrors of books that no training list names."""

import html
import random
import re
from dataclasses import dataclass

from tests.benchmarks.quality.sets.unseen.scans import Mirror

_MIN_CHARACTERS, _MAX_CHARACTERS = 120, 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """paragraphs: of one book, in its order."""

    title: str
    paragraphs: tuple[str, ...]

    def run(self, rng: random.Random, count: int) -> list[str]:
        """Returns paragraphs that follow each other."""
        start = rng.randrange(max(1, len(self.paragraphs) - count))
        return list(self.paragraphs[start : start + count])


def read(mirror: Mirror, title: str, prefix: str) -> Prose:
    """Returns the paragraphs of the XHTML or TEI files whose paths begin with `prefix`."""
    found: list[str] = []
    for path in mirror.paths:
        if path.startswith(prefix) and path.endswith((".xhtml", ".xml")):
            found += paragraphs(mirror.read(path).decode("utf-8"))
    return Prose(title=title, paragraphs=tuple(found))


def paragraphs(markup: str) -> list[str]:
    """Returns the texts of a document's paragraphs that are neither very short nor very long."""
    texts = []
    for body in re.findall(r"<p\b[^>]*>(.*?)</p>", markup, re.DOTALL):
        text = html.unescape(re.sub(r"<a [^>]*noteref[^>]*>.*?</a>|<[^>]+>", "", body))
        text = " ".join(re.sub("[\u2060\u200b\ufeff]", "", text).split())
        if _MIN_CHARACTERS <= len(text) <= _MAX_CHARACTERS:
            texts.append(text)
    return texts
