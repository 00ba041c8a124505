"""When the text of a page is in doubt, and what is then stored of it: the status doubtful, and why.

A text in doubt is kept. It is one that is as likely wrong as not, that lacks something which could not be read, or that
is empty although something stands on the page. Torch-free.
"""

import math
import re
from dataclasses import replace

from ocr.model_files.locate import CONFIDENCE, find_directory
from pipeline.config.schema import Config
from pipeline.outcome.results import failed_result
from pipeline.outcome.script_check import UNDETERMINED
from pipeline.types import PageError, PageResult

# The category of a page of which nothing could be read because something of it could not be drawn.
UNREADABLE = "unreadable"
NONE_READ = "print seen, none read"
_NO_CONFIDENCE = "read without a confidence"
_UNFINISHED = {"repeated": "it began to repeat itself", "truncated": "it was cut short"}
_REPEATED = re.compile(r"([^f])\1+", re.IGNORECASE)
_NO_WORDS = "no letter and no digit among what was read"
_SEPARATOR = "; "
# Signs of several marks.
_MARKS_OF = {"%": 3, "=": 2, '"': 2, "\u201c": 2, "\u201d": 2, ":": 2, ";": 2}
# Below which a text is in doubt. With a calibration: the shipped model reads scripts that it does not know with 0.03 to
# 0.3 and a hand-like face with up to 0.32; of 303 pictures of pages in Latin script, a third of them worn, none has
# less than 0.6. Without one the confidence is the tokens' mean probability, how sure the model is and not how much is
# right: a text is in doubt only where the model gave its own choices less than one chance in five. No model
# of that kind was measured: that number is a guess, on the side of leaving texts as they are.
_CALIBRATED, _UNCALIBRATED = 0.4, 0.2


def doubtful_below(config: Config) -> float:
    """Returns the confidence under which a text is in doubt. Raises: CheckpointError."""
    if config.store.doubtful_below is not None:
        return config.store.doubtful_below
    return _CALIBRATED if (find_directory(config.model) / CONFIDENCE).exists() else _UNCALIBRATED


def doubted(result: PageResult, reason: str) -> PageResult:
    """Returns the result with one more reason to doubt its text; a page without a text stays as it is.

    One that was cut short or repeats itself keeps that status, which says what is wrong with a text that is right.
    """
    if result.error is not None:
        return result
    reasons = result.doubt.split(_SEPARATOR) if result.doubt else []
    doubt = _SEPARATOR.join(dict.fromkeys((*reasons, reason)))
    unfinished = result.status in ("truncated", "repeated")
    return replace(result, status=result.status if unfinished else "doubtful", doubt=doubt)


def unread(result: PageResult) -> PageResult:
    """Returns a reading as it is if it found a text or is finished otherwise, else as doubtful: it found none."""
    if result.status != "ok" or result.parsed is None or result.parsed.text.strip():
        return result
    if result.parsed.blocks and all(block.label == "image" for block in result.parsed.blocks):
        return replace(result, status="blank")  # a model that names regions saw a picture alone
    return replace(doubted(result, NONE_READ), confidence=None)


def counted(result: PageResult, num_letters: int | None) -> PageResult:
    """Returns a reading of large type as it is, or in doubt where another number of letters stands there.

    num_letters: how many marks of letters are on the page, None where they cannot be counted. Whether a letter is
    there once or twice is what the model's character head cannot tell, and a calibrated confidence says nothing of.
    Letters may touch: fewer marks are doubted only where a letter that was written twice explains them, other than the
    f, two of which are one mark in many types.
    """
    if num_letters is None or result.parsed is None or not result.parsed.text.strip():
        return result
    text = result.parsed.text
    most = sum(_MARKS_OF.get(letter, 1) for letter in "".join(text.split()))
    least = _num_letters(text)
    twice = least - _num_letters(_REPEATED.sub(r"\1", text))
    if num_letters > most or least - twice <= num_letters < least:
        return doubted(result, f"{least} letters were read where {num_letters} stand")
    return result


def _num_letters(text: str) -> int:
    return sum(letter.isalnum() for letter in text)


def judged(result: PageResult, *, below: float) -> PageResult:
    """Returns an attempt as it is to be stored: never ok with an empty text, without a confidence, or with a low one.

    below: the confidence under which a text is in doubt; 0: none is for that. A text layer was not read: it has none.
    """
    result = unread(result)
    if result.parsed is None or result.status in ("blank", "embedded"):
        return result
    if not result.parsed.text.strip():  # sure of nothing: any text comes before it
        return replace(doubted(result, NONE_READ), confidence=None)
    if result.source == "layer":
        return result
    if not any(letter.isalnum() for letter in result.parsed.text):
        result = doubted(result, _NO_WORDS)
    if result.confidence is None:
        result = doubted(result, _NO_CONFIDENCE)
    elif result.confidence < below:
        # Rounded down: 0.349 is not "0.35 below 0.35".
        shown = math.floor(result.confidence * 100) / 100
        result = _nonsense(result, f"confidence {shown:.2f} below {below:g}")
    if result.script is not None:
        result = _nonsense(result, _foreign(result.script))
    return result


def _nonsense(result: PageResult, reason: str) -> PageResult:
    """The result as doubtful even where it did not end: that nonsense goes on is no reason to read it every night."""
    doubtful = doubted(result, reason)
    if doubtful.status == "doubtful":
        return doubtful
    return doubted(replace(doubtful, status="doubtful"), _UNFINISHED[result.status])


def _foreign(script: str) -> str:
    if script == UNDETERMINED:
        return "perhaps in a script that the model was not trained for, or in handwriting"
    return f"in a script that the model was not trained for ({script})"


def incomplete(result: PageResult, missing: str) -> PageResult:
    """Returns a judged attempt at a page of which something could not be drawn: doubtful, failed if nothing was read.

    missing: what, a sentence; "" leaves the attempt as it is. A text layer is as whole as the file has it.
    """
    if not missing or result.parsed is None or result.source == "layer":
        return result
    if result.parsed.text.strip():
        return doubted(result, missing)
    error = PageError(stage="render", category=UNREADABLE, message=missing)
    return failed_result(result.page, error, result.timings)
