"""Says how worker tasks failed, and makes the errors that stand for their results."""

import signal
from dataclasses import dataclass

from pebble import ProcessExpired

from storage.types import PageError


@dataclass(frozen=True, slots=True)
class PageWork:
    """What a task does with a page. stage: the one that its failures are told of. doing: how their messages begin.

    key: the configuration key of its time limit, if it has one.
    """

    stage: str
    doing: str
    key: str | None = None

    def failure(self, category: str, happened: str) -> PageError:
        """Returns a page's error. happened: how the message goes on."""
        return PageError(stage=self.stage, category=category, message=f"{self.doing} {happened}")

    def failed(self, limit_s: float, error: BaseException) -> PageError:
        """Returns the page's error for that of its task."""
        return self.failure(*failure_of(error, limit_s, self.key))


_TIME_LIMIT = "render.page_timeout_s"
RENDERING = PageWork("render", "rendering the page", _TIME_LIMIT)
JUDGING = PageWork("layer", "judging the page's text layer", _TIME_LIMIT)
PLACING, DRAWING = PageWork("place", "placing the page's text"), PageWork("render", "drawing the page")


def failure_of(error: BaseException, limit_s: float, key: str | None = None) -> tuple[str, str]:
    """Returns an error's category, and how the sentence "rendering the page ..." continues.

    key: the configuration key of the time limit, if it has one.
    """
    if isinstance(error, TimeoutError):
        remedy = f"; raise {key} if the file is worth it" if key else ""
        return "timeout", f"took longer than {limit_s:g} s{remedy}"
    if isinstance(error, MemoryError):
        return "memory", "took more memory than a worker may use"
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
