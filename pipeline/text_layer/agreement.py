"""Measures how far a page's reading agrees with its text layer, in the run's own process. Torch-free."""

import re
import unicodedata
from collections import Counter

# Words less similar than this are different words, not misread ones.
_ALIKE = 0.6
# The most unmatched words of each text to pair: pages with more are lost anyway, and pairing takes quadratic time.
_MOST_WORDS = 1500
_HYPHENATED = re.compile(r"(?<=\w)-\s*\n\s*(?=[^\W\d_])")
# Each Chinese character or kana is a word: these scripts do not separate words.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)


def agreement(ocr_text: str, layer_text: str) -> float:
    """Returns how far two texts agree, 0 to 1: the share of their letters and digits that are in words of both.

    Words count wherever they are, so another order of columns or notes costs nothing, nor do white space, hyphens at
    line ends, capitals and punctuation. A misread word counts by its similarity: unmatched words are paired by edit
    distance, the most similar first. It is 1.0 for two texts without words, 0.0 if only one has none.
    """
    ours, theirs = _words(ocr_text), _words(layer_text)
    total = _letters(ours) + _letters(theirs)
    if not total:
        return 1.0
    same = ours & theirs
    alike = _paired(list((ours - same).elements()), list((theirs - same).elements()))
    return min(1.0, (2 * _letters(same) + alike) / total)


def _words(text: str) -> Counter[str]:
    plain = unicodedata.normalize("NFKC", _HYPHENATED.sub("", text)).casefold()
    return Counter(_WORD.findall(plain))


def _letters(words: Counter[str]) -> int:
    return sum(len(word) * num for word, num in words.items())


def _paired(ours: list[str], theirs: list[str]) -> float:
    """Returns the letters in pairs of similar words, weighted by their similarity."""
    ours, theirs = ours[:_MOST_WORDS], theirs[:_MOST_WORDS]
    if not ours or not theirs:
        return 0.0
    from rapidfuzz.distance import Levenshtein  # imported late: most runs compare nothing
    from rapidfuzz.process import cdist

    likeness = cdist(ours, theirs, scorer=Levenshtein.normalized_similarity, score_cutoff=_ALIKE)
    rows, columns = likeness.nonzero()
    pairs = sorted(zip(rows.tolist(), columns.tolist(), strict=True), key=lambda pair: -likeness[pair])
    letters, used_ours, used_theirs = 0.0, set[int](), set[int]()
    for row, column in pairs:
        if row not in used_ours and column not in used_theirs:
            used_ours.add(row)
            used_theirs.add(column)
            letters += float(likeness[row, column]) * (len(ours[row]) + len(theirs[column]))
    return letters
