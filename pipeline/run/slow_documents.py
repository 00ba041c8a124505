"""Puts off slow documents: one whose pages keep timing out is read on after all others.

A small file can hold a thousand pages, each of which occupies a worker until the page's time limit. Its first pages are
tried in their turn; once they have shown what it is like, the rest waits until nothing else is left to read.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from itertools import chain, zip_longest
from operator import attrgetter

from pipeline.types import Page, ReadyPage
from storage.types import PageError

LOGGER = logging.getLogger("ocrbatch")
# A document is put off after this many of its pages timed out: in a row, or in all.
IN_A_ROW, IN_ALL = 2, 4


class SlowDocuments:
    """Decides which pages have to wait. Use it from the event loop's thread only."""

    def __init__(self) -> None:
        self._in_a_row: Counter[str] = Counter()
        self._in_all: Counter[str] = Counter()
        self._put_off: dict[str, list[Page]] = {}
        self._is_last_round = False

    def rendered(self, page: Page, outcome: ReadyPage | PageError) -> None:
        """Notes the outcome of rendering a page."""
        if not (isinstance(outcome, PageError) and outcome.category == "timeout"):
            self._in_a_row[page.sha256] = 0
            return
        self._in_a_row[page.sha256] += 1
        self._in_all[page.sha256] += 1
        is_over = self._in_a_row[page.sha256] >= IN_A_ROW or self._in_all[page.sha256] >= IN_ALL
        if is_over and not self._is_last_round and page.sha256 not in self._put_off:
            self._put_off[page.sha256] = []
            LOGGER.warning("%s: page after page takes too long; what is left of it is read last", page.path)

    def puts_off(self, page: Page) -> bool:
        """Returns whether the page has to wait; if so, `rest` will return it."""
        if self._is_last_round or page.sha256 not in self._put_off:
            return False
        self._put_off[page.sha256].append(page)
        return True

    def rest(self) -> Iterator[Page]:
        """Returns the pages that were put off, one of each document in turn; from now on none is put off any more."""
        self._is_last_round = True
        rounds = zip_longest(
            *(sorted(pages, key=attrgetter("page_index")) for pages in self._put_off.values())
        )
        return (page for page in chain.from_iterable(rounds) if page is not None)
