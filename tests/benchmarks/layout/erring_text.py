"""Makes a text as a page model may write it of a page whose words are known: wrong here and there, in another order."""

import random
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

# Of letters that are wrong, words that are lost, and words behind which there is one that the page has not.
WRONG, LOST, INVENTED = 0.03, 0.02, 0.005
_LETTERS = string.ascii_lowercase + string.digits


@dataclass(frozen=True, slots=True)
class Written:
    """A word as written. numbers: of the words of the truth that it stands for, two where it was hyphenated."""

    text: str
    numbers: tuple[int, ...]


def written(words: Sequence[Any], rng: random.Random) -> list[Written]:
    """Returns the words of such a text. words: as MuPDF's page.get_text("words") gives them."""
    blocks = [list(block) for _, block in groupby(enumerate(words), key=lambda numbered: numbered[1][5])]
    if len(blocks) > 1:  # some are moved elsewhere
        for _ in range(max(1, len(blocks) // 5)):
            blocks.insert(rng.randrange(len(blocks)), blocks.pop(rng.randrange(len(blocks))))
    found = []
    for block in blocks:
        kept = [word for word in _joined(block) if rng.random() >= LOST]
        own = [_with_errors(word, rng) for word in kept]
        own = [word for word in own if word.text]
        if not own:
            continue
        for at in [at for at in range(len(own)) if rng.random() < INVENTED]:
            own.insert(at + 1, Written("".join(rng.choices(_LETTERS, k=rng.randint(2, 9))), ()))
        found += _marked(own, rng)
    return found


def _joined(block: Sequence[tuple[int, Any]]) -> Iterator[Written]:
    """Yields the words of a block, hyphenated ones joined."""
    half: Written | None = None
    for place, (number, word) in enumerate(block):
        is_last = place + 1 == len(block)
        ends_line = not is_last and block[place + 1][1][6] != word[6]
        if half is not None:
            yield Written(half.text + word[4], (*half.numbers, number))
            half = None
        elif ends_line and len(word[4]) > 2 and word[4].endswith("-"):
            half = Written(word[4][:-1], (number,))
        else:
            yield Written(word[4], (number,))


def _with_errors(word: Written, rng: random.Random) -> Written:
    letters = []
    for letter in word.text:
        if rng.random() >= WRONG:
            letters.append(letter)
            continue
        letters.append(rng.choice(("", rng.choice(_LETTERS), letter + rng.choice(_LETTERS))))
    return Written("".join(letters), word.numbers)


def _marked(words: list[Written], rng: random.Random) -> list[Written]:
    """Returns a block's words with marks of markdown: of headings, of lists, of emphasis."""
    sign = rng.choice(("", "", "", "##", "-"))
    if rng.random() < 0.3:
        at = rng.randrange(len(words))
        words[at] = Written(f"**{words[at].text}**", words[at].numbers)
    return [*([Written(sign, ())] if sign else []), *words]
