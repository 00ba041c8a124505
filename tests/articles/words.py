"""Invented prose for composed pages: sentences of common words, no two lines alike."""

import random

_NOUNS = """
harbour bridge winter method sample engine garden letter market signal window station pattern surface channel valley
record village current material journey library teacher measure council vessel reading factor culture weather machine
witness orchard balance lantern quarter chapter granite compass
"""
_VERBS = """
shows follows changes covers reaches divides carries explains replaces collects compares suggests requires improves
describes remains connects produces
"""
_OTHERS = """
often under between early several narrow within clearly after almost further modern steady against without rather
seldom across smaller common northern open before every
"""
_SMALL = "the of and a in to for with on at by from as that this its"
_KINDS = tuple(words.split() for words in (_NOUNS, _SMALL, _VERBS, _SMALL, _OTHERS, _NOUNS))


class Words:
    """Draws text. rng decides all of it."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def phrase(self, count: int) -> str:
        """Returns so many words, the first with a capital."""
        return " ".join(self._word(number) for number in range(count)).capitalize()

    def sentence(self) -> str:
        words = self.phrase(self._rng.randint(7, 19)).split(" ")
        if len(words) > 11:
            words[5] += ","
        return " ".join(words) + "."

    def paragraph(self, num_sentences: int) -> str:
        return " ".join(self.sentence() for _ in range(num_sentences))

    def number(self) -> str:
        whole = self._rng.randint(1, 4000)
        return str(whole) if self._rng.random() < 0.4 else f"{whole / 100:.2f}"

    def _word(self, number: int) -> str:
        return self._rng.choice(_KINDS[(number + self._rng.randint(0, 1)) % len(_KINDS)])
