"""Says how worker tasks failed, and makes the results that replace theirs."""

import signal
from collections import Counter

from pebble import ProcessExpired

from pipeline.types import PageKind

# How the message about a failed task of each kind begins.
RENDERING, JUDGING, DRAWING = "rendering the page", "judging the page's text layer", "drawing the page"
PLACING = "placing the page's text"


def unknown(num_pages: int) -> Counter[PageKind]:
    """Returns a survey in which all the pages are of unknown kind."""
    return Counter[PageKind]({"unknown": num_pages})


def failure_of(error: BaseException, limit_s: float, key: str | None = None) -> tuple[str, str]:
    """Returns an error's category, and how the sentence "rendering the page ..." continues.

    key: the configuration key of the time limit, if it has one.
    """
    if isinstance(error, TimeoutError):
        remedy = f"; raise {key} if the file is worth it" if key else ""
        return "timeout", f"took longer than {limit_s:g} s{remedy}"
    if isinstance(error, ProcessExpired):
        return "crash", f"crashed its worker process ({death(error.exitcode)})"
    return "crash", f"failed: {type(error).__name__}: {error}"


def death(exit_code: int | None) -> str:
    """Returns how a process ended, in words."""
    if exit_code is None:
        return "for an unknown reason"
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"exit code {exit_code}"
