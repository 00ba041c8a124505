"""Lines as a finder finds them: parted at wide white, some joined, torn, cut short or lost, ends and baselines off.

Pages lie askew; on some headings are hardly larger than text.

And rules as they are seen: the long ones of those printed, some torn or lost, and now and then where none is.
"""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ocr.line_reader.line_features import weighted_median
from ocr.line_reader.structure_network import ROLES
from ocr.training.structure.page_parts import shifted
from ocr.training.structure.placed_lines import LinePage
from ocr.training.structure.true_lines import Box, TrueLine

# In type sizes.
_WIDE, _WIDE_SPREAD = 2.2, 0.3  # white that parts a line
_CELLS, _CELLS_SPREAD = 0.9, 0.3  # and white between cells, of which a finder has learned much
_ENDS, _BASE = 0.15, 0.05  # how far ends and baselines are off
_SIZE = 0.06  # how far type sizes are, as a share
_SAME_ROW = 0.3  # baselines nearer are of one row
_TORN, _LOST = 0.01, 0.005  # shares of lines
_BADLY, _BADLY_TORN, _BADLY_LOST = 0.2, 0.4, 0.04  # a share of pages, and shares of its lines at most
# Share of pages, and how far a line's white may be from where it is torn, in type sizes.
_RIVER, _RIVER_REACH = 0.2, 1.5
# Shares of pages and of their white up to this that a line runs over.
_FUSING, _FUSED, _FUSED_GAP = 0.15, 0.25, 3.0
_ASKEW, _ANGLE_DEG = 0.4, 0.3  # share of pages, and how much
# Shares of pages on which no rule is seen, or rules are torn and lost, and of these rules at most; how long a rule is
# at least, as a share of the page's mean side; how many are seen where none is, and on which share of pages.
_UNRULED, _WORN, _WORN_SHARES, _LONG, _FALSE, _FALSE_SHARE = 0.15, 0.45, (0.3, 0.3, 0.9), 0.046, 4, 0.12
_BITTEN = 0.3  # of a piece of a torn rule at either end, at most
_SHORT = 0.15  # share of pages some of whose figures lose their ends, as the cents of a faint receipt
_EVEN, _LARGER = 0.3, 1.15  # share of pages whose headings are hardly larger than text, and how much at most


def found(rng: random.Random, page: LinePage) -> LinePage:
    """Returns a page with its lines as found, in reading order, and its rules as seen."""
    is_even, width_pt = bool(page.lines) and rng.random() < _EVEN, page.width_pt
    fused = _FUSED if rng.random() < _FUSING else 0.0
    badly = rng.random() if rng.random() < _BADLY else 0.0
    torn, lost = max(_TORN, badly * _BADLY_TORN), max(_LOST, badly * _BADLY_LOST)
    lines = _levelled(rng, page) if is_even else page.lines
    pieces = [piece for line in lines for piece in _parted(rng, line)]
    pieces = _joined(rng, pieces, fused)
    if pieces and rng.random() < _RIVER:
        pieces = _along_rivers(rng, pieces)
    pieces = [part for piece in pieces if rng.random() > lost for part in _torn(rng, piece, torn)]
    if rng.random() < _SHORT:
        share = rng.random()
        pieces = [_short(rng, piece) if rng.random() < share else piece for piece in pieces]
    slope = math.tan(math.radians(rng.gauss(0, _ANGLE_DEG))) if rng.random() < _ASKEW else 0.0
    lines = tuple(
        replace(
            piece,
            x0=(x0 := piece.x0 + rng.gauss(0, _ENDS) * piece.size),
            x1=max(x0 + 0.2 * piece.size, piece.x1 + rng.gauss(0, _ENDS) * piece.size),
            base=piece.base
            + rng.gauss(0, _BASE) * piece.size
            + slope * ((piece.x0 + piece.x1 - width_pt) / 2),
            size=piece.size * math.exp(rng.gauss(0, _SIZE)),
            order=number,
        )
        for number, piece in enumerate(pieces)
    )
    return replace(page, lines=lines, rules=tuple(_seen(rng, page, slope)))


def _levelled(rng: random.Random, page: LinePage) -> list[TrueLine]:
    """Returns the lines, headings at most this much larger than text, about their middle or from where they begin."""
    sizes, lengths = np.array([(line.size, len(line.text)) for line in page.lines], np.float32).T
    most, made = weighted_median(sizes, lengths) * rng.uniform(1.0, _LARGER), list[TrueLine]()
    for line in page.lines:
        if ROLES[line.place.role].startswith("heading") and line.size > most:
            scale, middle = most / line.size, (line.x0 + line.x1) / 2
            at = middle if abs(middle - page.width_pt / 2) < line.size else line.x0
            line = replace(shifted(line, at * (1 - scale), line.base, scale), size=most)
        made.append(line)
    return made


def _seen(rng: random.Random, page: LinePage, slope: float) -> Iterator[Box]:
    """Yields the rules that are seen. slope: of the page's lines."""
    if rng.random() < _UNRULED:
        return
    width, height = page.width_pt, page.height_pt
    least = _LONG * (width + height) / 2
    worn = rng.random() * rng.choice(_WORN_SHARES) * (rng.random() < _WORN)
    rules = list(page.rules)
    for _ in range(rng.randint(1, _FALSE) if rng.random() < _FALSE_SHARE else 0):
        x, y, length = rng.random() * width, rng.random() * height, least * math.exp(rng.uniform(0, 2.5))
        end = (x + length, y) if rng.random() < 0.5 else (x, y + length)
        rules.append((x, y, min(width, end[0]), min(height, end[1])))
    for x0, y0, x1, y1 in rules:
        if rng.random() < worn:
            continue
        count = rng.choice([1, 1, 2, 4, 8]) if rng.random() < worn else 0
        for near, far in pairwise([0.0, *sorted(rng.random() for _ in range(count)), 1.0]):
            bite = _BITTEN * (far - near) * (count > 0)
            a, b = near + bite * rng.random(), far - bite * rng.random()
            left, right = (x0 + share * (x1 - x0) + rng.gauss(0, 0.3) for share in (a, b))
            top, foot = (y0 + share * (y1 - y0) + rng.gauss(0, 0.3) for share in (a, b))
            if max(right - left, foot - top) < least:
                continue
            down = slope * ((left + right - width) / 2)
            yield left, min(top, foot) + down, max(right, left), max(top, foot) + down


def _parted(rng: random.Random, line: TrueLine) -> list[TrueLine]:
    gaps = [after[0] - before[1] for before, after in zip(line.words, line.words[1:], strict=False)]
    at = [n for n, gap in enumerate(gaps, 1) if gap > rng.gauss(_WIDE, _WIDE_SPREAD) * line.size]
    return cut(line, at)


def _torn(rng: random.Random, line: TrueLine, share: float) -> list[TrueLine]:
    if len(line.words) < 2 or rng.random() > share:
        return [line]
    count = min(len(line.words) - 1, rng.choice([1, 1, 2, 3]))
    return cut(line, sorted(rng.sample(range(1, len(line.words)), count)))


def _short(rng: random.Random, line: TrueLine) -> TrueLine:
    """Returns the line without the end of its last word, if that is a figure."""
    length = len(line.text.rpartition(" ")[2])
    if length < 2 or not line.text[-1].isdigit():
        return line
    lost, (x0, x1) = rng.randint(1, length - 1), line.words[-1]
    end = x1 - (x1 - x0) * lost / length
    return replace(line, text=line.text[:-lost], words=(*line.words[:-1], (x0, end)), x1=end)


def _along_rivers(rng: random.Random, lines: Sequence[TrueLine]) -> list[TrueLine]:
    """Returns the lines, some that follow each other torn where their white stands one below the other."""
    made = list[TrueLine]()
    at, left = 0.0, 0
    for line in lines:
        if not left and len(line.words) > 4 and rng.random() < 0.1:
            at, left = rng.uniform(line.x0, line.x1), rng.randint(2, 14)
        left = max(0, left - 1)
        gaps = [
            (abs((before[1] + after[0]) / 2 - at), number)
            for number, (before, after) in enumerate(zip(line.words, line.words[1:], strict=False), 1)
        ]
        off, number = min(gaps, default=(math.inf, 0))
        torn = left and off < _RIVER_REACH * line.size and rng.random() < 0.8
        made += cut(line, [number]) if torn else [line]
    return made


def cut(line: TrueLine, at: Sequence[int]) -> list[TrueLine]:
    """Returns the line cut before these words."""
    texts, words = line.text.split(" "), line.words
    if not at or len(texts) != len(words):
        return [line]
    return [
        replace(line, text=" ".join(texts[a:b]), words=words[a:b], x0=words[a][0], x1=words[b - 1][1])
        for a, b in zip([0, *at], [*at, len(texts)], strict=True)
    ]


def _joined(rng: random.Random, lines: Sequence[TrueLine], fused: float) -> list[TrueLine]:
    """Returns the lines, as one those with narrow white between; of wider white this share."""
    made: list[TrueLine] = []
    for line in lines:
        last = made[-1] if made else None
        if last is not None and abs(last.base - line.base) < _SAME_ROW * line.size:
            gap = (line.x0 - last.x1) / line.size
            same = last.place == line.place
            limit = rng.gauss(*((_WIDE, _WIDE_SPREAD) if same else (_CELLS, _CELLS_SPREAD)))
            if -0.3 < gap < limit or (fused and 0 < gap < _FUSED_GAP and rng.random() < fused):
                made[-1] = replace(
                    last, text=f"{last.text} {line.text}", words=last.words + line.words, x1=line.x1
                )
                continue
        made.append(line)
    return made
