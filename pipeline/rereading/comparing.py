"""Says whether a reading is good enough, and which of several readings is the best.

Better is what the database ranks higher (storage.records.attempts.merit): read to its end before cut short or
repeated, before failed; then the higher confidence; of equals the earlier. Until all attempts are made, none is
doubtful for its confidence (pipeline.outcome.doubt), only for having read nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from string import whitespace

from ocr.types import ParsedText
from pipeline.types import PageResult
from storage.records.merit import merit

UNFINISHED = ("repeated", "truncated")
# Stages whose failure another reading may avoid; a page that cannot be rendered stays that way.
_MODEL_STAGES = ("prepare", "encode", "decode", "place", "read")
# Most different characters of a scrap.
_SCRAP = 2


def is_good_enough(result: PageResult, below: float) -> bool:
    """Returns whether a reading needs no further one, or none can help. below: the confidence under which it is not."""
    if result.status == "failed":
        return result.error is None or result.error.stage not in _MODEL_STAGES
    if result.status in (*UNFINISHED, "doubtful"):
        return False
    return result.confidence is None or result.confidence >= below


def best(attempts: Sequence[PageResult]) -> PageResult:
    """Returns the best attempt, which is the page's result."""
    return max(attempts, key=lambda attempt: merit(attempt.status, attempt.confidence))


def without_scrap(result: PageResult, below: float) -> PageResult:
    """Returns a reading under this confidence, made blank if its text is a scrap: one or two characters over and over.

    A pattern's corners are read like that, for example. Other readings are returned unchanged.
    """
    if (
        result.parsed is None
        or result.status == "doubtful"
        or result.confidence is None
        or is_good_enough(result, below)
        or len(set(result.parsed.text) - set(whitespace)) > _SCRAP
    ):
        return result
    return replace(result, status="blank", parsed=ParsedText(text="", markdown=""), confidence=None)
