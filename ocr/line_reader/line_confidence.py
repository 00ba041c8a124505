"""Rates a page's text and its blocks: how much of it is right, from how sure its lines were read. Torch-free."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from ocr.line_reader.found_lines import ReadLine
from ocr.line_reader.language import StrangeLine
from ocr.transcript.confidence import Calibration
from ocr.types import Block, ParsedText

# What remains of each signal on pages without any error: errors shrink in proportion to the signals, so their
# logarithms are features.
_UNSURE, _LOW, _DOUBTED, _LEFT_OUT = 0.003, 0.02, 0.01, 0.05
_DOUBTFUL = 0.8  # the confidence of lines that are counted as doubtful
_LEAST_SURE = 0.1  # of the characters


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSignals:
    """How sure a page's lines are, by their characters' probabilities, 0 to 1.

    mean: that of all characters. low: the confidence of the line with which the least sure tenth of the characters
    ends. doubted: the share of characters in lines under 0.8. num_chars, num_lines: of the lines taken for text.
    num_left_out: lines that were found and are not in the text.
    """

    mean: float
    low: float
    doubted: float
    num_chars: int
    num_lines: int
    num_left_out: int


def line_signals(lines: Sequence[ReadLine], *, num_left_out: int = 0) -> LineSignals:
    """Returns the signals of the lines in a page's text; all are 0 where there are none."""
    counted = sorted((line.confidence, len(line.text)) for line in lines)
    num_chars = sum(length for _, length in counted)
    reached = accumulate(length for _, length in counted)
    unsure = (own for (own, _), num in zip(counted, reached, strict=True) if num >= _LEAST_SURE * num_chars)
    return LineSignals(
        mean=sum(confidence * length for confidence, length in counted) / max(1, num_chars),
        low=next(unsure, 0.0),
        doubted=sum(length for confidence, length in counted if confidence < _DOUBTFUL) / max(1, num_chars),
        num_chars=num_chars,
        num_lines=len(lines),
        num_left_out=num_left_out,
    )


def rated(
    parsed: ParsedText,
    signals: LineSignals,
    calibration: Calibration | None,
    strange: Sequence[StrangeLine] = (),
) -> tuple[ParsedText, float]:
    """Returns the text with its blocks' confidences calibrated, and the page's confidence.

    parsed: its blocks' confidences are the mean probabilities of their characters, and stay so without a calibration.
    strange: lines in it that look like no language; the curves know nothing of those.
    """
    if calibration is None:
        return parsed, signals.mean
    blocks = list[Block]()
    for block in parsed.blocks:
        own = calibration.block(block_features(block.confidence or 0.0, signals))
        odd = (line for line in strange if _is_in(line, block))
        blocks.append(replace(block, confidence=_mixed(own, odd, len(block.text))))
    page = _mixed(calibration.page(page_features(signals)), strange, signals.num_chars)
    return replace(parsed, blocks=tuple(blocks)), page


def _mixed(confidence: float, strange: Iterable[StrangeLine], num_chars: int) -> float:
    """Returns the confidence of a text some of whose lines are right to another share."""
    parts = [(len(found.line.text) / max(1, num_chars), min(found.right, confidence)) for found in strange]
    share = sum(part for part, _ in parts)
    ordinary = max(0.0, 1 - share)
    return (ordinary * confidence + sum(part * right for part, right in parts)) / (ordinary + share)


def _is_in(found: StrangeLine, block: Block) -> bool:
    line, (x0, y0, x1, y1) = found.line.line, block.box_px or (0, 0, -1, -1)
    return x0 <= (line.left + line.right) / 2 <= x1 and y0 <= line.middle <= y1


def page_features(signals: LineSignals) -> dict[str, float]:
    """Returns the features of a page's curve."""
    return {
        "unsure": math.log1p((1 - signals.mean) / _UNSURE),
        "low": math.log1p((1 - signals.low) / _LOW),
        "doubted": math.log1p(signals.doubted / _DOUBTED),
        "left_out": math.log1p(signals.num_left_out / max(1, signals.num_lines) / _LEFT_OUT),
    }


def block_features(mean: float, signals: LineSignals) -> dict[str, float]:
    """Returns the features of a block's curve. mean: the probability of its characters."""
    page = {f"page_{name}": value for name, value in page_features(signals).items()}
    return {"unsure": math.log1p((1 - mean) / _UNSURE), **page}
