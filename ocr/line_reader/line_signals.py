"""Tells what speaks for and against a page's lines, as a calibration of its confidence needs it. Torch-free."""

from collections.abc import Sequence
from dataclasses import dataclass

from ocr.line_reader.found_lines import ReadLine

_DOUBTED = 0.8  # the confidence of lines that are counted as doubtful
_LOW = 0.1  # of the characters


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
    low, left = 0.0, _LOW * num_chars
    for confidence, length in counted:
        low, left = confidence, left - length
        if left <= 0:
            break
    return LineSignals(
        mean=sum(confidence * length for confidence, length in counted) / max(1, num_chars),
        low=low,
        doubted=sum(length for confidence, length in counted if confidence < _DOUBTED) / max(1, num_chars),
        num_chars=num_chars,
        num_lines=len(lines),
        num_left_out=num_left_out,
    )
