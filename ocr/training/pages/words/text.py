"""Running text for training pages: paragraphs of real text, and strings that cannot be guessed."""

import lzma
import random
import string
from collections.abc import Sequence
from pathlib import Path

from ocr.training.pages.words.nonce import Latin, Nonce

# How often a page comes from a category.
BUSINESS = "business"  # names, addresses, companies, goods: made up, of many countries
_WEIGHTS = {"en_prose": 0.40, "en_tech": 0.06, BUSINESS: 0.06, "code": 0.0}
_LANGUAGE_SHARE = 0.24
MADE_UP = {"random": 0.15, "nonce": 0.07, "latin": 0.02}
# How often a paragraph of a page of real text is made up all the same. With the pages of made-up text, about a tenth
# of all paragraphs are nonce words, one in 25 is Latin, and three in ten cannot be guessed.
_NONCE_SHARE, _LATIN_SHARE = 0.07, 0.015
_SPRINKLED_SHARE = 0.08
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
        self.languages = [name for name in self.paragraphs if name not in _WEIGHTS]
        self._nonce: dict[str, Nonce] = {}
        self._latin = Latin()

    def category(self, rng: random.Random) -> str:
        """The kind of text one page holds; "random", "nonce" and "latin" are made up on the spot."""
        names = [*(n for n in _WEIGHTS if n in self.paragraphs), *MADE_UP, *self.languages]
        share = _LANGUAGE_SHARE / max(1, len(self.languages))
        weights = [_WEIGHTS.get(n, MADE_UP.get(n, share)) for n in names]
        return rng.choices(names, weights)[0]

    def paragraph(self, rng: random.Random, category: str, max_chars: int = 900) -> str:
        """One paragraph of at most about max_chars characters, cut at a word."""
        if category == "random":
            return random_words(rng, rng.randrange(8, 70))
        draw = rng.random()
        if category == "latin" or (draw < _LATIN_SHARE and category not in MADE_UP):
            return self._latin.paragraph(rng, max_chars)
        if category == "nonce" or (draw < _LATIN_SHARE + _NONCE_SHARE and category not in MADE_UP):
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


def _letters(rng: random.Random, alphabet: str, low: int, high: int) -> str:
    return "".join(rng.choices(alphabet, k=rng.randint(low, high)))


_ACCENTED = "äöüßéèêëàâçîïôœùûñáíóúìòãõåæøłńśźżćęąőűčřšžýěůĺ"
_MARKS = string.punctuation + "“”‘’–—…•©®™°±×÷§¶«»€£¥→≤≥≠≈µ½¼¾²³†‡"


def random_word(rng: random.Random) -> str:
    """A word, number, code, price, date, address or symbol made at random."""
    kind = rng.randrange(15)
    lower, upper, digits = string.ascii_lowercase, string.ascii_uppercase, string.digits
    if kind < 3:
        return _letters(rng, lower, 1, 10)
    if kind == 3:
        return _letters(rng, upper, 1, 1) + _letters(rng, lower, 1, 9)
    if kind == 4:
        return _letters(rng, upper + digits, 2, 9)
    if kind == 5:
        return _letters(rng, string.ascii_letters + digits + "_-./", 4, 16)
    if kind == 6:
        return (
            f"{rng.randrange(10 ** rng.randint(1, 7)):,}{rng.choice(['', '.' + _letters(rng, digits, 1, 3)])}"
        )
    if kind == 7:
        return f"{rng.choice('$€£¥')}{rng.randrange(100000) / 100:.2f}"
    if kind == 8:
        mark = rng.choice("./-")
        return f"{rng.randint(1, 31):02}{mark}{rng.randint(1, 12):02}{mark}{rng.randint(1900, 2040)}"
    if kind == 9:
        return f"{_letters(rng, lower, 3, 8)}@{_letters(rng, lower, 3, 8)}.{rng.choice(['com', 'org', 'de', 'net'])}"
    if kind == 10:
        return rng.choice(_MARKS) if rng.random() < 0.5 else _letters(rng, _MARKS, 1, 3)
    if kind == 11:
        return _letters(rng, lower + _ACCENTED, 2, 9)
    if kind == 12:
        return f"({_letters(rng, lower, 1, 8)}{rng.choice([')', '),', ').'])}"
    if kind == 13:
        return _letters(rng, lower, 2, 8) + rng.choice([",", ".", ";", ":", "!", "?"])
    return f"{rng.randrange(1000) / 10:.1f}{rng.choice(['%', ' kg', ' cm', ' °C', 'x', ''])}"


def code_block(rng: random.Random, source: Sequence[str], max_lines: int) -> list[str]:
    """A few lines of program text, indentation kept."""
    lines = rng.choice(source).split("\n")
    start = rng.randrange(max(1, len(lines) - max_lines + 1))
    return [line[:88] for line in lines[start : start + max_lines] if line.strip()]
