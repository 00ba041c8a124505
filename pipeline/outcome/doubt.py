"""Decides when a page's text is in doubt, and gives such pages the status doubtful with the reasons.

A doubtful text is kept. It is as likely wrong as right, or lacks something that could not be read, or is empty although
there is something on the page. Pages in a script that the model was not trained for are told too: their readings are
no text. Torch-free.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from ocr.model_files.locate import CONFIDENCE
from pipeline.outcome.results import failed_result
from pipeline.types import PageResult, RenderedPage
from storage.types import PageError

# The category of a page on which nothing was read because part of it could not be drawn.
UNREADABLE = "unreadable"
NONE_READ = "print seen, none read"
_NO_CONFIDENCE = "read without a confidence"
_UNFINISHED = {"repeated": "it began to repeat itself", "truncated": "it was cut short"}
_NO_WORDS = "no letter and no digit among what was read"
_MOSTLY_MARKS = "mostly marks of rules, borders or leaders, few letters"
# A leader is one mark, however long: a contents page is no page of marks.
_FILLED = re.compile(r"([-._=~*·•])(?:\s*\1){3,}")
_FEWEST_LETTERS = 0.4  # of the marks that are no spaces
_NO_LANGUAGE = "looks like no language: another script, handwriting or a page seen from behind"
_FOREIGN = "in a script that the model was not trained for"
_MOST_NAMED = 12  # runs of lines
_SEPARATOR = "; "
# The confidence below which a text is in doubt. With a calibration: the shipped reader reads scripts it does not know
# with 0.03 to 0.3 and a handwriting-like typeface with up to 0.32; of 303 images of pages in Latin script, a third of
# them worn, none has less than 0.6. A page model's is the tokens' mean probability, which tells how sure it is and not
# how much is right: a text is in doubt only where the model gave its own choices less than one chance in five. None was
# measured: the number is a guess that errs towards trusting texts.
_CALIBRATED, _UNCALIBRATED = 0.4, 0.2


def doubtful_below(folder: Path) -> float:
    """Returns the confidence under which a text is in doubt by default. folder: with the files of what read it."""
    return _CALIBRATED if (folder / CONFIDENCE).exists() else _UNCALIBRATED


def doubted(result: PageResult, reason: str) -> PageResult:
    """Returns the result with one more reason to doubt its text; a failed page stays as it is.

    A text that was cut short or repeats itself keeps that status, which already says what is wrong with it.
    """
    if result.error is not None:
        return result
    reasons = result.doubt.split(_SEPARATOR) if result.doubt else []
    doubt = _SEPARATOR.join(dict.fromkeys((*reasons, reason)))
    unfinished = result.status in ("truncated", "repeated")
    return replace(result, status=result.status if unfinished else "doubtful", doubt=doubt)


def unread(result: PageResult) -> PageResult:
    """Returns a reading that is ok but without text as doubtful, or blank if it saw only images; others unchanged."""
    if result.status != "ok" or result.parsed is None or result.parsed.text.strip():
        return result
    if result.parsed.blocks and all(block.label == "image" for block in result.parsed.blocks):
        return replace(result, status="blank")  # a model that labels regions saw nothing but pictures
    return replace(doubted(result, NONE_READ), confidence=None)


def of_no_language(result: PageResult, lines: Sequence[str]) -> PageResult:
    """Returns a reading as doubtful for lines that look like no language, named by their numbers in its text.

    lines: their texts; those that are not in the result's text were left out of it.
    """
    rows = [] if result.parsed is None else result.parsed.text.splitlines()
    numbers = [number for number, row in enumerate(rows, 1) if any(line.strip() in row for line in lines)]
    runs = [list(run) for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    named = [f"{run[0][1]}" if len(run) == 1 else f"{run[0][1]}-{run[-1][1]}" for run in runs]
    if len(named) > _MOST_NAMED:
        return doubted(result, f"{_NO_LANGUAGE} ({len(numbers)} lines)")
    where = f"line{'s' * (len(numbers) > 1)} {', '.join(named)} of its text" if named else "lines left out"
    return doubted(result, f"{_NO_LANGUAGE} ({where})")


def judged(result: PageResult, *, below: float) -> PageResult:
    """Returns an attempt as it is to be stored: doubtful instead of ok if its text is empty or its confidence is low.

    A missing confidence counts as low, except for a text layer, which was not read. below: the confidence under which a
    text is in doubt; 0: none is for that reason.
    """
    result = unread(result)
    if result.parsed is None or result.status in ("blank", "embedded"):
        return result
    if not result.parsed.text.strip():  # without a confidence, so that any attempt with text ranks before it
        return replace(doubted(result, NONE_READ), confidence=None)
    if result.source == "layer":
        return result
    marks = "".join(_FILLED.sub(r"\1", result.parsed.text).split())
    share = sum(map(str.isalnum, marks)) / len(marks)
    if share < _FEWEST_LETTERS:
        result = doubted(result, _MOSTLY_MARKS if share else _NO_WORDS)
    if result.confidence is None:
        result = doubted(result, _NO_CONFIDENCE)
    elif result.confidence < below:
        # Rounded down: 0.349 is not "0.35 below 0.35".
        shown = math.floor(result.confidence * 100) / 100
        result = _nonsense(result, f"confidence {shown:.2f} below {below:g}")
    if result.script is not None:
        result = _nonsense(result, f"{_FOREIGN} ({result.script})")
    return result


def _nonsense(result: PageResult, reason: str) -> PageResult:
    """Returns the result as doubtful even if it did not end: endless nonsense need not be read again every night."""
    doubtful = doubted(result, reason)
    if doubtful.status == "doubtful":
        return doubtful
    return doubted(replace(doubtful, status="doubtful"), _UNFINISHED[result.status])


def incomplete(result: PageResult, missing: str) -> PageResult:
    """Returns a judged attempt at a page that could not be drawn completely: doubtful, or failed if nothing was read.

    missing: a sentence that says what is missing; "" leaves the attempt unchanged. So does a text layer's text, which
    does not depend on the drawing.
    """
    if not missing or result.parsed is None or result.source == "layer":
        return result
    if result.parsed.text.strip():
        return doubted(result, missing)
    error = PageError(stage="render", category=UNREADABLE, message=missing)
    return failed_result(result.page, error, result.timings)


def foreign_script(script: str | None, known: frozenset[str] | None) -> str | None:
    """Returns the script if the model was not trained for it, else None.

    known: the model's scripts, from pipeline.documents.script.known_scripts; None for a model that reads any script.
    """
    return None if script is None or known is None or script in known else script


def as_stored(
    result: PageResult, ready: RenderedPage, *, known: frozenset[str] | None, below: float
) -> PageResult:
    """Returns an attempt as it is to be stored, with every reason to doubt it that its page gives.

    A text layer's text was not read, so that its script is no such reason; a page without a layer is told by its
    confidence. known: see foreign_script. below: see judged.
    """
    script = None if result.source == "layer" else foreign_script(ready.script, known)
    if script is not None:
        result = replace(result, script=script)
    return incomplete(judged(result, below=below), ready.missing)
