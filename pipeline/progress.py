"""What a run shows while it goes on: a bar on a terminal, plain lines in a log, or nothing."""

import logging
import sys
import time
from typing import Any

from pipeline.types import Document, PageResult
from storage.printable import one_line
from storage.types import FINE_STATUSES

LOGGER = logging.getLogger("ocrbatch")


class Silent:
    """Shows nothing."""

    def pages_found(self, num_pages: int) -> None: ...
    def document_refused(self, document: Document) -> None: ...
    def page_done(self, result: PageResult) -> None: ...
    def page_rescued(self, first: PageResult, result: PageResult) -> None: ...


class Counting(Silent):
    """Counts, and says which page or document has a fault."""

    def __init__(self) -> None:
        self.num_pages = self.num_ok = self.num_faults = 0

    def pages_found(self, num_pages: int) -> None:
        self.num_pages += num_pages

    def document_refused(self, document: Document) -> None:
        line = f"{document.path}: {document.status}: {document.reason}"
        if document.status == "skipped":
            LOGGER.debug(line)
        else:
            self.say(line)

    def page_done(self, result: PageResult) -> None:
        if result.status in FINE_STATUSES:
            self.num_ok += 1
            return
        self.num_faults += 1
        self.say(_what_befell(result))

    def page_rescued(self, first: PageResult, result: PageResult) -> None:
        self.say(f"{_what_befell(first)}; rescued by the rung {result.rung}: {result.status}")

    def say(self, line: str) -> None:
        print(one_line(line), file=sys.stderr, flush=True)


class Bar(Counting):
    """A bar on a terminal. bar: a tqdm bar with a total of 0."""

    def __init__(self, bar: Any) -> None:
        super().__init__()
        self._bar = bar

    def pages_found(self, num_pages: int) -> None:
        super().pages_found(num_pages)
        self._bar.total = self.num_pages
        self._bar.refresh()

    def page_done(self, result: PageResult) -> None:
        super().page_done(result)
        self._bar.set_postfix_str(f"ok={self.num_ok}, failed={self.num_faults}", refresh=False)
        self._bar.update()

    def say(self, line: str) -> None:
        self._bar.write(one_line(line), file=sys.stderr)


class Lines(Counting):
    """A plain line now and then, for logs."""

    EVERY_S = 10.0

    def __init__(self) -> None:
        super().__init__()
        self._start = self._shown_at = time.monotonic()
        self._shown: tuple[int, int, int] | None = None

    def page_done(self, result: PageResult) -> None:
        super().page_done(result)
        if time.monotonic() - self._shown_at >= self.EVERY_S:
            self.show()

    def show(self) -> None:
        """Says how far the run is, unless that was just said."""
        counts = (self.num_pages, self.num_ok, self.num_faults)
        if counts == self._shown or not self.num_pages:
            return
        self._shown, self._shown_at = counts, time.monotonic()
        done = self.num_ok + self.num_faults
        rate = done / max(self._shown_at - self._start, 1e-9)
        self.say(
            f"{done} of {self.num_pages} pages, {rate:.2f} pages/s, {self.num_ok} ok, {self.num_faults} failed"
        )


def _what_befell(result: PageResult) -> str:
    reason = result.doubt if result.error is None else result.error.message
    detail = f": {reason}" if reason else ""
    return f"{result.page.path}, page {result.page.page_number}: {result.status}{detail}"
