"""Lines as a finder finds them: parted at wide white, some joined, torn or lost, ends and baselines off, askew."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace

from ocr.training.structure.true_lines import TrueLine

# In type sizes.
_WIDE, _WIDE_SPREAD = 2.2, 0.3  # white that parts a line
_CELLS, _CELLS_SPREAD = 0.9, 0.3  # and white between cells, of which a finder has learned much
_ENDS, _BASE = 0.15, 0.05  # how far ends and baselines are off
_SIZE = 0.06  # how far type sizes are, as a share
_SAME_ROW = 0.3  # baselines nearer are of one row
_TORN, _LOST = 0.01, 0.005  # shares of lines
# Shares of pages and of their white up to this that a line runs over.
_FUSING, _FUSED, _FUSED_GAP = 0.15, 0.25, 3.0
_ASKEW, _ANGLE_DEG = 0.4, 0.3  # share of pages, and how much


def found(rng: random.Random, lines: Sequence[TrueLine], width_pt: float) -> list[TrueLine]:
    """Returns the lines as found, in reading order. width_pt: of the page."""
    fused = _FUSED if rng.random() < _FUSING else 0.0
    pieces = [piece for line in lines for piece in _parted(rng, line)]
    pieces = _joined(rng, pieces, fused)
    pieces = [part for piece in pieces if rng.random() > _LOST for part in _torn(rng, piece)]
    slope = math.tan(math.radians(rng.gauss(0, _ANGLE_DEG))) if rng.random() < _ASKEW else 0.0
    return [
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
    ]


def _parted(rng: random.Random, line: TrueLine) -> list[TrueLine]:
    gaps = [after[0] - before[1] for before, after in zip(line.words, line.words[1:], strict=False)]
    at = [n for n, gap in enumerate(gaps, 1) if gap > rng.gauss(_WIDE, _WIDE_SPREAD) * line.size]
    return _cut(line, at)


def _torn(rng: random.Random, line: TrueLine) -> list[TrueLine]:
    if len(line.words) < 2 or rng.random() > _TORN:
        return [line]
    return _cut(line, [rng.randrange(1, len(line.words))])


def _cut(line: TrueLine, at: Sequence[int]) -> list[TrueLine]:
    """Returns the line cut before these words."""
    texts = line.text.split(" ")
    if not at or len(texts) != len(line.words):
        return [line]
    return [
        replace(
            line,
            text=" ".join(texts[a:b]),
            words=line.words[a:b],
            x0=line.words[a][0],
            x1=line.words[b - 1][1],
        )
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
