"""Rates a page's text and its blocks: how much of it is right, from how sure its lines were read. Torch-free."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ocr.line_reader.language import StrangeLine
from ocr.line_reader.line_signals import LineSignals
from ocr.transcript.confidence import Calibration
from ocr.types import Block, ParsedText

# What remains of each signal on pages without any error: errors shrink in proportion to the signals, so their
# logarithms are features.
_UNSURE, _LOW, _DOUBTED, _LEFT_OUT = 0.003, 0.02, 0.01, 0.05


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
    blocks = tuple(
        replace(
            block,
            confidence=_mixed(
                calibration.block(block_features(block.confidence or 0.0, signals)),
                (line for line in strange if _is_in(line, block)),
                len(block.text),
            ),
        )
        for block in parsed.blocks
    )
    page = _mixed(calibration.page(page_features(signals)), strange, signals.num_chars)
    return replace(parsed, blocks=blocks), page


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
