"""Shows a run's progress: a bar on a terminal, plain lines in a log, or nothing."""

import logging
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from pipeline.reports.listing import in_words, page_name, refusal
from pipeline.reports.run_figures import WorkerUse, in_brief
from pipeline.reports.summary import Progress
from pipeline.types import InputFile, PageResult, Phase
from storage.strings.printable import one_line
from storage.types import DONE_STATUSES, FINE_STATUSES

LOGGER = logging.getLogger("ocrbatch")


class Silent(Progress):
    """A progress display that shows nothing."""


class Counting(Silent):
    """A progress display that counts pages and reports those with faults, and documents that cannot be read."""

    def __init__(self) -> None:
        self.num_pages = self.num_faults = 0
        self.done = dict.fromkeys(DONE_STATUSES, 0)
        self.brief = ""

    @property
    def num_read(self) -> int:
        """The number of pages that were read to their end, in doubt or not."""
        return sum(self.done.values())

    def counts(self) -> list[tuple[str, int]]:
        """Returns the number of pages by status, without those that no page has, and of failed ones last."""
        return [
            *((status, number) for status, number in self.done.items() if number),
            ("failed", self.num_faults),
        ]

    def pages_found(self, num_pages: int) -> None:
        self.num_pages += num_pages

    def workers(self, workers: Sequence[WorkerUse]) -> None:
        self.brief = in_brief(workers)

    def document_refused(self, document: InputFile) -> None:
        line = refusal(document.path, document.status, document.reason)
        if document.status == "skipped":
            LOGGER.debug(line)
        else:
            self.say(line)

    def page_done(self, result: PageResult) -> None:
        if result.status in self.done:
            self.done[result.status] += 1
        else:
            self.num_faults += 1
        if result.status not in FINE_STATUSES:
            self.say(_outcome_line(result))

    def page_rescued(self, first: PageResult, result: PageResult) -> None:
        self.say(f"{_outcome_line(first)}; rescued by the rung {result.rung}: {result.status}")

    def say(self, line: str) -> None:
        """Prints a line on standard error."""
        print(one_line(line), file=sys.stderr, flush=True)


class Bar(Counting):
    """A bar on a terminal with the run's phase, pages, seconds, tokens, and the time left once pages read so far tell.

    bar: a tqdm bar with a total of 0. clock: in seconds.
    """

    # Until all files were probed the number of pages is unknown: no bar and no percentage.
    FINDING = "{desc}: {n_fmt}/{total_fmt}+ pages [{elapsed}{postfix}]"
    FOUND = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} pages [{elapsed}{postfix}]"
    EVERY_S = 0.5
    # The fewest pages and seconds for an estimate of the time left.
    KNOWN_PAGES, KNOWN_S = 3, 5.0

    def __init__(self, bar: Any, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._bar, self._clock = bar, clock
        self._num_read = self._num_tokens = 0
        self._started, self._shown_at = clock(), float("-inf")
        self._reading_since: float | None = None
        self._all_found = False
        bar.bar_format = self.FINDING
        bar.set_description_str("inspecting files")

    def pages_found(self, num_pages: int) -> None:
        super().pages_found(num_pages)
        self._bar.total = self.num_pages
        self._show()

    def all_found(self) -> None:
        self._all_found = True
        self._bar.bar_format = self.FOUND if self.num_pages else self.FINDING
        self._show()

    def at_work(self, phase: Phase, num_tokens: int) -> None:
        if phase == "reading" and self._reading_since is None:
            self._reading_since = self._clock()
        self._num_tokens = num_tokens
        self._bar.set_description_str(phase, refresh=False)
        if self._clock() - self._shown_at >= self.EVERY_S:
            self._show()

    def page_done(self, result: PageResult) -> None:
        super().page_done(result)
        if self._reading_since is not None and result.status in DONE_STATUSES:
            # There was something to read: by the page model, by the line reader, or in the text layer.
            self._num_read += (
                result.num_tokens > 0 or result.confidence is not None or result.source == "layer"
            )
        self._bar.n += 1
        self._show()

    def say(self, line: str) -> None:
        self._bar.write(one_line(line), file=sys.stderr)

    def _show(self) -> None:
        self._shown_at = self._clock()
        tokens = [f"{self._num_tokens:,} tokens"] if self._num_tokens else []
        counts = [f"{status}={number}" for status, number in self.counts()] if self._bar.n else []
        parts = [*tokens, *counts, *self._speed(), *self._left(), *([self.brief] if self.brief else [])]
        self._bar.set_postfix_str(", ".join(parts), refresh=False)
        self._bar.refresh()

    def _speed(self) -> list[str]:
        """Returns the speed over pages with a text: failed pages were not read."""
        seconds = self._clock() - (self._started if self._reading_since is None else self._reading_since)
        return [f"{self.num_read / seconds:.2f} pages/s"] if self.num_read and seconds > 0 else []

    def _left(self) -> list[str]:
        if not self._all_found or self._reading_since is None or self._num_read < self.KNOWN_PAGES:
            return []
        seconds = self._clock() - self._reading_since
        left = self.num_pages - self._bar.n
        if seconds < self.KNOWN_S or not left:
            return []
        return [f"about {in_words(left * seconds / self._num_read)} left"]


class Lines(Counting):
    """A progress display for logs: a plain line every EVERY_S seconds."""

    EVERY_S = 10.0

    def __init__(self) -> None:
        super().__init__()
        self._start = self._shown_at = time.monotonic()
        self._shown: tuple[int, int, int] | None = None
        self._phase: Phase = "inspecting files"

    def at_work(self, phase: Phase, num_tokens: int) -> None:
        if phase != self._phase and phase != "reading":
            self.say(phase)
        self._phase = phase

    def page_done(self, result: PageResult) -> None:
        super().page_done(result)
        if time.monotonic() - self._shown_at >= self.EVERY_S:
            self.show()

    def show(self) -> None:
        """Prints how far the run is, unless nothing has changed since it was printed last."""
        counts = (self.num_pages, self.num_read, self.num_faults)
        if counts == self._shown or not self.num_pages:
            return
        self._shown, self._shown_at = counts, time.monotonic()
        done = self.num_read + self.num_faults
        rate = self.num_read / max(self._shown_at - self._start, 1e-9)  # a failure is quick
        by_status = ", ".join(f"{number} {status}" for status, number in self.counts())
        self.say(
            f"{done} of {self.num_pages} pages, {rate:.2f} pages/s, {by_status}{self.brief and '; ' + self.brief}"
        )


def _outcome_line(result: PageResult) -> str:
    reason = result.doubt if result.error is None else result.error.message
    detail = f": {reason}" if reason else ""
    return f"{page_name(result.page.path, result.page.page_number)}: {result.status}{detail}"
