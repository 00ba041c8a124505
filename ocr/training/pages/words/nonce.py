"""Makes words that no dictionary holds but that look real: letter by letter, each from the two before it.

A reader that has learnt a language pulls unknown words towards known ones; these teach it to read what is there.
"""

import random
import re
import string
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import accumulate

_SHORTEST, _LONGEST = 2, 14
_KEEP_SHORT = 0.5  # of two and three letters
_TRIES = 6  # draws of a word that comes out too long or too short, before it is cut
_WORD = re.compile(r"[^\W\d_]{2,}")
_START, _END = "  ", " "
_COMMANDS = ["\\", "--", "", "get_", "x.", "@", "No. ", "A-", "is", "Item", "fig:"]


class Nonce:
    """Makes words with the letter sequences of a language, learnt once from its distinct words.

    words: of the language; rare ones count as much as frequent ones, so that made words vary.
    """

    def __init__(self, words: Iterable[str]) -> None:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        distinct = set(words)
        for word in sorted(distinct):
            letters = _START + word.lower() + _END
            for i in range(len(letters) - 2):
                counts[letters[i : i + 2]][letters[i + 2]] += 1
        self._next = {pair: ("".join(c), list(accumulate(c.values()))) for pair, c in counts.items()}
        self._capitals = sum(word[0].isupper() for word in distinct) / max(1, len(distinct))

    @classmethod
    def of(cls, text: str) -> "Nonce":
        """Returns a generator learnt from running text."""
        return cls(_WORD.findall(text) or ["lorem", "ipsum"])

    def word(self, rng: random.Random) -> str:
        """Returns a word of 2 to 14 lower-case letters."""
        made = ""
        for _ in range(_TRIES):
            made, pair = "", _START
            while len(made) <= _LONGEST:
                letters, weights = self._next[pair]
                letter = rng.choices(letters, cum_weights=weights)[0]
                if letter == _END:
                    break
                made, pair = made + letter, pair[1] + letter
            if 4 <= len(made) <= _LONGEST or (_SHORTEST <= len(made) < 4 and rng.random() < _KEEP_SHORT):
                return made
        return (made + "us")[:_LONGEST]

    def dressed(self, rng: random.Random) -> str:
        """Returns a word as in running text: sometimes capitalised, joined to another, or with an ending."""
        word, draw = self.word(rng), rng.random()
        if draw < 0.02:
            return word.upper()
        if draw < 0.04:
            return f"{word}-{self.word(rng)}"
        if draw < 0.06:
            word += rng.choice(["'s", "’s", "s’"])
        return word[0].upper() + word[1:] if rng.random() < self._capitals else word

    def paragraph(self, rng: random.Random, max_chars: int) -> str:
        """Returns sentences made only of invented words, of up to max_chars characters, cut at a word."""
        text: list[str] = []
        length, size = rng.randint(min(max_chars, 60), max_chars), 0
        while size < length:
            words = (
                self.dressed(rng) + ("," if rng.random() < 0.08 else "") for _ in range(rng.randint(3, 18))
            )
            sentence = " ".join(words).rstrip(",") + rng.choices(".?!;:", [20, 1, 1, 1, 1])[0]
            text.append(sentence[0].upper() + sentence[1:])
            size += len(sentence) + 1
        whole = " ".join(text)
        return whole if len(whole) <= max_chars else whole[:max_chars].rsplit(" ", 1)[0]

    def disguise(self, rng: random.Random, text: str, share: float = 0.7) -> str:
        """Returns the text with most of its longer words replaced, capitals kept: grammar without meaning."""

        def replace(found: re.Match[str]) -> str:
            word = found[0]
            if len(word) < 4 or rng.random() > share:
                return word
            made = self.word(rng)
            return made.upper() if word.isupper() else made.capitalize() if word[0].isupper() else made

        return _WORD.sub(replace, text)


def stem(rng: random.Random) -> str:
    """Returns two to seven lower-case letters."""
    return "".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 7)))


def alike(rng: random.Random, count: int) -> list[str]:
    """Returns names that differ little: with a common start or a common end."""
    head, stems = rng.choice(_COMMANDS), [stem(rng) for _ in range(rng.randint(2, 6))]
    tails = ["", "s", "Color", "_at", *(stem(rng)[:3] for _ in range(3))]
    if rng.random() < 0.3:
        return [f"{head}{stems[0]}{number}" for number in range(count)]
    return [
        f"{head}{rng.choice(stems)}{rng.choice(['', '', *stems])}{rng.choice(tails)}" for _ in range(count)
    ]
