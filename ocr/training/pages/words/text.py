"""Running text for training pages: paragraphs of real text, and strings that cannot be guessed."""

import lzma
import random
import string
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ocr.training.pages.words.nonce import Nonce

# How often a page comes from a category.
BUSINESS = "business"  # names, addresses, companies, goods: made up, of many countries
_WEIGHTS = {"en_prose": 0.26, "en_tech": 0.05, BUSINESS: 0.06, "code": 0.0}
_LANGUAGE_SHARE = 0.39  # of them together, each as often as there is text of it
MADE_UP = {"random": 0.15, "nonce": 0.09}
# How often a paragraph of a page of real text is made up all the same. With the pages of made-up text, about an eighth
# of all paragraphs are nonce words, and three in ten cannot be guessed.
_NONCE_SHARE = 0.085
_SPRINKLED_SHARE = 0.08
_RARE = 10_000  # a letter that is rarer than one in so many may come from another typeface
_LEARNT_CHARACTERS = 400_000  # of a category, to make words like its own


class TextSource:
    """Paragraphs by category, read from `<category>.txt.xz` (paragraphs separated by blank lines).

    One in twelve paragraphs of every category is held out: split "train" never yields it, "valid" only it.
    """

    def __init__(self, folder: Path, split: str = "train") -> None:
        self.paragraphs: dict[str, list[str]] = {}
        for file in sorted(folder.glob("*.txt.xz")):
            found = lzma.decompress(file.read_bytes()).decode().split("\n\n")
            kept = [p for i, p in enumerate(found) if (i % 12 == 0) == (split == "valid") and p.strip()]
            self.paragraphs[file.name.removesuffix(".txt.xz")] = kept
        counts = {name: Counter("".join(p)) for name, p in self.paragraphs.items() if name not in _WEIGHTS}
        whole = sum(map(Counter.total, counts.values()))
        self.languages = {name: count.total() / whole for name, count in counts.items()}
        self.letters = {name: _own_letters(count) for name, count in counts.items()}
        self._nonce: dict[str, Nonce] = {}

    def category(self, rng: random.Random) -> str:
        """The kind of text one page holds; "random" and "nonce" are made up on the spot."""
        weights = {name: share for name, share in _WEIGHTS.items() if name in self.paragraphs} | MADE_UP
        weights |= {name: share * _LANGUAGE_SHARE for name, share in self.languages.items()}
        return rng.choices([*weights], [*weights.values()])[0]

    def paragraph(self, rng: random.Random, category: str, max_chars: int = 900) -> str:
        """One paragraph of at most about max_chars characters, cut at a word."""
        if category == "random":
            return random_words(rng, rng.randrange(8, 70))
        if category == "nonce" or rng.random() < _NONCE_SHARE:
            like = self._like(rng, category)
            if rng.random() < 0.6:
                return self.nonce(like).paragraph(rng, max_chars)
            return self.nonce(like).disguise(rng, self._real(rng, like, max_chars))
        text = self._real(rng, category, max_chars)
        return sprinkle(rng, text, self.nonce(category)) if rng.random() < _SPRINKLED_SHARE else text

    def nonce(self, category: str) -> Nonce:
        """A maker of words like those of a category of real text; learnt at first use."""
        if category not in self._nonce:
            paragraphs = self.paragraphs[category]
            step = max(1, sum(map(len, paragraphs)) // _LEARNT_CHARACTERS)
            self._nonce[category] = Nonce.of(" ".join(paragraphs[::step]))
        return self._nonce[category]

    def _like(self, rng: random.Random, category: str) -> str:
        """The category of real text after which nonce words are made: half of the time English."""
        if category in self.paragraphs and rng.random() < 0.5:
            return category
        known = [name for name in self.paragraphs if name != "code"]
        return "en_prose" if "en_prose" in known and rng.random() < 0.5 else rng.choice(known)

    def _real(self, rng: random.Random, category: str, max_chars: int) -> str:
        text = rng.choice(self.paragraphs[category])
        if len(text) > max_chars:
            start = text.find(" ", rng.randrange(len(text) - max_chars + 1)) + 1
            text = text[start : start + max_chars].rsplit(" ", 1)[0]
        return text

    def phrase(self, rng: random.Random, category: str, num_words: int) -> str:
        """A few consecutive words, as headings and cells hold."""
        words = self.paragraph(rng, category if category != "code" else "en_prose").split()
        start = rng.randrange(max(1, len(words) - num_words + 1))
        return " ".join(words[start : start + num_words])


def _own_letters(counts: Counter[str]) -> frozenset[str]:
    """Returns a language's letters beyond ASCII that a typeface should have."""
    least = counts.total() / _RARE
    return frozenset(c for c, count in counts.items() if c.isalpha() and not c.isascii() and count > least)


def sprinkle(rng: random.Random, text: str, nonce: Nonce | None = None) -> str:
    """The text with some words replaced by random ones, so that the reader cannot rely on language.

    nonce: makes half of them, where given.
    """
    words = text.split(" ")
    for _ in range(max(1, len(words) // 12)):
        made = nonce.dressed(rng) if nonce and rng.random() < 0.5 else random_word(rng)
        words[rng.randrange(len(words))] = made
    return " ".join(words)


def random_words(rng: random.Random, count: int) -> str:
    return " ".join(random_word(rng) for _ in range(count))


_LOWER, _UPPER, _DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
# Letters of Europe and of Vietnam.
_RANGES = (0xDF, 0x138), (0x139, 0x149), (0x14A, 0x17F), (0x1E81, 0x1E86), (0x1EA1, 0x1EFA)
_ACCENTED = "".join(c for ends in _RANGES for c in map(chr, range(*ends)) if c.islower()) + "șțơư"
_MARKS = string.punctuation + "“”‘’–—…•©®™°±×÷§¶«»€£¥→≤≥≠≈µ½¼¾²³†‡"
# The parts of words: letters out of an alphabet, the fewest and the most; or one of several endings.
_WORDS: tuple[tuple[tuple[str, int, int] | list[str], ...], ...] = (
    *[((_LOWER, 1, 10),)] * 3,
    ((_UPPER, 1, 1), (_LOWER, 1, 9)),
    ((_UPPER + _DIGITS, 2, 9),),
    ((string.ascii_letters + _DIGITS + "_-./", 4, 16),),
    ((_DIGITS, 1, 3), ["", ",000", ","], (_DIGITS, 3, 3), ["", ".5", ".25", ".875"]),
    (("$€£¥", 1, 1), (_DIGITS, 1, 3), ["."], (_DIGITS, 2, 2)),
    (
        ["0", "1", "2"],
        (_DIGITS, 1, 1),
        [".0", ".1", "/0", "-1"],
        ["1", "2"],
        [".19", ".20", "/20", "-20"],
        (_DIGITS, 2, 2),
    ),
    ((_LOWER, 3, 8), ["@"], (_LOWER, 3, 8), [".com", ".org", ".de", ".net"]),
    ((_MARKS, 1, 1),),
    ((_LOWER + _ACCENTED, 2, 9),),
    ((_UPPER + _ACCENTED.upper().replace("SS", "İ"), 1, 8),),
    (["("], (_LOWER, 1, 8), [")", "),", ")."]),
    ((_LOWER, 2, 8), [",", ".", ";", ":", "!", "?"]),
    ((_DIGITS, 1, 2), ["."], (_DIGITS, 1, 1), ["%", " kg", " cm", " °C", "x", ""]),
)


def random_word(rng: random.Random) -> str:
    """Returns a word, number, code, price, date, address or symbol made at random."""
    return "".join(
        rng.choice(part)
        if isinstance(part, list)
        else "".join(rng.choices(part[0], k=rng.randint(part[1], part[2])))
        for part in rng.choice(_WORDS)
    )


def code_block(rng: random.Random, source: Sequence[str], max_lines: int) -> list[str]:
    """A few lines of program text, indentation kept."""
    lines = rng.choice(source).split("\n")
    start = rng.randrange(max(1, len(lines) - max_lines + 1))
    return [line[:88] for line in lines[start : start + max_lines] if line.strip()]
