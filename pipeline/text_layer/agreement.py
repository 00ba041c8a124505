"""What a run does with the text layer of a page that is ready: the flow's side of it. Torch-free.

Workers judge the layer (pipeline.text_layer.page), at once or when asked; here it is taken from the page and compared
with what was read.
"""

import re
import unicodedata
from collections import Counter

from pipeline.types import Layer, ReadyPage

# Words that are less alike than this are others, not misread ones.
_ALIKE = 0.6
# Of each text's words that the other does not have: pages with more are lost anyway, and matching takes their square.
_MOST_WORDS = 1500
_HYPHENATED = re.compile(r"(?<=\w)-\s*\n\s*(?=[^\W\d_])")
# Chinese characters and kana stand for themselves: they are not divided into words.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)


def layer_of(ready: ReadyPage) -> Layer | None:
    """Returns the page's text layer as the worker judged it.

    None for an image, a page without a layer, where `text_layer: ignore` asked for none, or `fallback` did not need it
    so far (pipeline.ingest.workers.pool.WorkerPool.layer). Use its text only where
    is_trustworthy is True; reason says why it is not.
    """
    return ready.layer


def agreement(ocr_text: str, layer_text: str) -> float:
    """Returns 0..1, how far two texts agree: the share of their letters and digits that are in words of both.

    Words count wherever they stand, so another order of columns or notes costs nothing, as do white space, hyphens at
    line ends, capitals and punctuation. A word that is misread counts as far as it is alike: those without a partner
    are paired by their edit distance, the most alike first. 1.0 for two texts without words, 0.0 for one.
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
    """Returns the letters of words that are nearly the same, each as far as it is."""
    ours, theirs = ours[:_MOST_WORDS], theirs[:_MOST_WORDS]
    if not ours or not theirs:
        return 0.0
    from rapidfuzz.distance import Levenshtein  # here, as most runs compare nothing
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
