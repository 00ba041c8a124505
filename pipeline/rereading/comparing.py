"""Says whether a reading is good enough, and which of several readings is the best.

Better is what the database ranks higher (storage.records.attempts.merit): read to its end before cut short or
repeated, before failed; then the higher confidence; of equals the earlier. Until all attempts are made, none is
doubtful for its confidence (pipeline.outcome.doubt), only for having read nothing.

Two things differ on purpose between readings that are merged into the first attempt and attempts of their own:

- Only what has a confidence is worth cutting into smaller crops. What failed, or ended before any word, needs other
  settings, which are the configured steps' (is_doubtful, is_good_enough).
- A merged reading replaces the first for good: one without text never replaces a text, and a page on which print was
  seen but none read does not become blank (better). Attempts are all stored: there, a reading without text becomes a
  failed one, which ranks below every text by itself (pipeline.rereading.further_steps).
"""

from collections.abc import Sequence
from dataclasses import replace
from string import whitespace

from ocr.types import ParsedText
from pipeline.types import PageResult
from storage.records.merit import merit

UNFINISHED = ("repeated", "truncated")
# Stages whose failure another reading may avoid; a page that cannot be rendered stays that way.
_MODEL_STAGES = ("encode", "decode", "place", "lines")
# Most different characters of a scrap.
_SCRAP = 2


def is_good_enough(result: PageResult, below: float) -> bool:
    """Returns whether a reading needs no further one, or none can help. below: the confidence under which it is not."""
    if result.status == "failed":
        return result.error is None or result.error.stage not in _MODEL_STAGES
    if result.status in (*UNFINISHED, "doubtful"):
        return False
    return result.confidence is None or result.confidence >= below


def is_doubtful(result: PageResult, below: float) -> bool:
    """Returns whether smaller crops may improve a reading. below: as in is_good_enough; 0: they never do."""
    has_confidence = result.confidence is not None or result.status == "doubtful"
    return below > 0 and has_confidence and not is_good_enough(result, below)


def best(attempts: Sequence[PageResult]) -> PageResult:
    """Returns the best attempt, which is the page's result."""
    return max(attempts, key=lambda attempt: merit(attempt.status, attempt.confidence))


def better(first: PageResult, second: PageResult, below: float) -> PageResult:
    """Returns the better of two readings of one page or crop: the second only if it has text or the first has none."""
    if not _has_text(second, below) and (_has_text(first, below) or first.status == "doubtful"):
        return first
    return best((first, second))


def without_scrap(result: PageResult, below: float) -> PageResult:
    """Returns a doubtful reading, made blank if its text is a scrap: one or two characters over and over.

    A pattern's corners are read like that, for example. Other readings are returned unchanged.
    """
    if (
        result.parsed is None
        or result.status == "doubtful"
        or not is_doubtful(result, below)
        or len(set(result.parsed.text) - set(whitespace)) > _SCRAP
    ):
        return result
    return replace(result, status="blank", parsed=ParsedText(text="", markdown=""), confidence=None)


def _has_text(result: PageResult, below: float) -> bool:
    """Returns whether more was read than a doubtful scrap."""
    shown = without_scrap(result, below)
    return shown.parsed is not None and bool(shown.parsed.text.strip())
