"""What a network that reads a page's structure sees of its lines: numbers, letters, geometry of pairs. Numpy only.

Lengths are in the page's usual type size, so that neither resolution nor paper size matters.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ocr.line_reader.found_lines import Box, Floats

NUM_FEATURES, NUM_PAIR = 17, 10
HEAD, TAIL = 16, 8  # letters at a line's start and end that are seen
_ASCII, _FIRST = 95, 32
# None, printable ASCII, and bullets, dashes, quotes, digits and letters of other kinds, the rest; what a rule across
# the page has in place of letters, and one down it.
_ACROSS = _ASCII + 6
NUM_LETTERS = _ACROSS + 2
MOST_RULES, _THIN, _CLIP = 80, 0.1, 3.0
_OTHERS = (("•◦▪■●○→✓★‣▶∗·□☐☑»∘", 1), ("–—−‐", 2), ("“”‘’„«", 3))


@dataclass(frozen=True, slots=True, kw_only=True)
class LineTokens:
    """N lines as a network sees them, and rules behind them. numbers: [N + R, NUM_FEATURES].

    letters: [N + R, HEAD + TAIL], classes, 0 for none. places: [N + R, 5] x0, x1, baseline, size, logarithm of the
    width, in the page's usual type size; of a rule its foot and its height. num_lines: N.
    """

    num_lines: int
    numbers: Floats
    letters: npt.NDArray[np.uint8]
    places: Floats


def line_tokens(
    places: Floats, texts: Sequence[str], width: float, height: float, rules: Sequence[Box] = ()
) -> LineTokens:
    """Returns what a network sees of the lines of a page, and of its longest rules.

    places: [N, 4] x0, x1, baseline, type size. width, height: the page's, in the same unit. rules: x0, y0, x1, y1 of
    each.
    """
    lengths = np.array([len(text) for text in texts], np.float32)
    em = weighted_median(places[:, 3], lengths)
    lines, count = len(texts), min(len(rules), MOST_RULES)
    if count:
        left, top, right, foot = np.array(rules, np.float32).reshape(-1, 4).T
        kept = np.argsort(top - foot + left - right, kind="stable")[:count]
        boxes = np.stack([left, right, foot, np.maximum(foot - top, _THIN * em)], 1)[kept]
        places = np.concatenate([places, boxes])
        lengths = np.concatenate([lengths, np.zeros(count, np.float32)])
        texts = [*texts, *[""] * count]
    x0, x1, base, size = (places / em).T
    wide = np.maximum(x1 - x0, 0.1)
    page_wide, page_high = width / em, height / em
    numbers = np.stack(
        [
            x0 / page_wide, x1 / page_wide, base / page_high, wide / page_wide, np.log(size),
            np.log(wide) / 3, np.log(wide / np.maximum(lengths, 1) / size), np.log1p(lengths) / 4,
            np.full_like(x0, np.log(page_wide) - 4), np.full_like(x0, np.log(page_high) - 4),
            np.full_like(x0, np.log(lines) / 4 - 1), *np.array([_shares(text) for text in texts], np.float32).T,
        ],
        1,
    )  # fmt: skip
    letters = np.zeros((len(texts), HEAD + TAIL), np.uint8)
    for row, text in zip(letters, texts, strict=True):
        start, end = text[:HEAD], text[-TAIL:]
        row[: len(start)] = [letter_class(c) for c in start]
        row[HEAD + TAIL - len(end) :] = [letter_class(c) for c in end]
    numbers[lines:] = numbers[lines:].clip(-_CLIP, _CLIP)
    letters[lines:] = _ACROSS + (wide[lines:, None] < size[lines:, None])
    own = np.stack([x0, x1, base, size, np.log(wide)], 1).astype(np.float32)
    return LineTokens(num_lines=lines, numbers=numbers.astype(np.float32), letters=letters, places=own)


def weighted_median(values: Floats, weights: Floats) -> float:
    """Returns the value at which half of the weights is reached."""
    order = np.argsort(values)
    total = np.cumsum(np.maximum(weights[order], 0.01))
    return float(values[order][np.searchsorted(total, total[-1] / 2)])


def _shares(text: str) -> tuple[float, ...]:
    """Returns shares of digits, capitals, letters and stops; whether it ends a sentence, and how many words it has."""
    count = max(1, len(text))
    digits, capitals, letters, stops = (
        sum(map(kind, text)) / count for kind in (str.isdigit, str.isupper, str.isalpha, "._·…".__contains__)
    )
    return digits, capitals, letters, stops, float(text[-1:] in ".!?:"), np.log1p(text.count(" ")) / 3


@cache
def letter_class(char: str) -> int:
    """Returns a character's class: of an accented letter that of its letter without the accent."""
    for marks, number in _OTHERS:
        if char in marks:
            return _ASCII + number
    plain = unicodedata.normalize("NFKD", char)[0]
    code = ord(plain) - _FIRST
    return code + 1 if 0 <= code < _ASCII else _ASCII + (4 if plain.isalnum() else 5)


def pair_geometry(places: Any, module: Any = np, firsts: slice = slice(None)) -> Any:
    """Returns [..., N, N, NUM_PAIR]: how the second line of each pair lies to the first. places: [..., N, 5].

    module: numpy or torch, whose arrays these are. firsts: the first lines, of those that are wanted.
    """
    a, b = places[..., firsts, None, :], places[..., None, :, :]
    across, down = b[..., :2] - a[..., :2], b[..., 2] - a[..., 2]
    shared = module.minimum(a[..., 1], b[..., 1]) - module.maximum(a[..., 0], b[..., 0])
    narrower = module.minimum(a[..., 1] - a[..., 0], b[..., 1] - b[..., 0])
    smaller = module.minimum(a[..., 3], b[..., 3])

    def squeezed(value: Any) -> Any:
        return module.sign(value) * module.log1p(abs(value))

    return module.stack(
        [
            squeezed(across[..., 0]), squeezed(across[..., 1]), squeezed((across[..., 0] + across[..., 1]) / 2),
            squeezed(down), squeezed(shared), (shared / (narrower + 0.1)).clip(-1, 1),
            (down / smaller).clip(-3, 3) / 2, (across[..., 0] / smaller).clip(-3, 3) / 2,
            module.log(b[..., 3] / a[..., 3]), b[..., 4] - a[..., 4],
        ],
        -1,
    )  # fmt: skip
