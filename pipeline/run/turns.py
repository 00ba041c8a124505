"""Whose turn it is: a document whose pages take too long one after the other is read on after all others.

A small file can hold a thousand pages of which each takes a worker for as long as a page may take. Its first pages are
tried in their turn; when these have shown what it is, the rest waits until nothing else does.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from itertools import chain, zip_longest

from pipeline.types import Page, PageError, ReadyPage

LOGGER = logging.getLogger("ocrbatch")
# Pages of a document that time out until its turn is over: one after the other, or in all.
IN_A_ROW, IN_ALL = 2, 4


class Turns:
    """For the event loop's thread."""

    def __init__(self) -> None:
        self._in_a_row: Counter[str] = Counter()
        self._in_all: Counter[str] = Counter()
        self._put_off: dict[str, list[Page]] = {}
        self._is_last_round = False

    def rendered(self, page: Page, outcome: ReadyPage | PageError) -> None:
        """Notes what became of a page."""
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
        """Returns whether the page is to wait; it is among `rest` then."""
        if self._is_last_round or page.sha256 not in self._put_off:
            return False
        self._put_off[page.sha256].append(page)
        return True

    def rest(self) -> Iterator[Page]:
        """Returns the pages that were put off, a page of each document in turn; from here on none is."""
        self._is_last_round = True
        rounds = zip_longest(*(sorted(pages, key=_index) for pages in self._put_off.values()))
        return (page for page in chain.from_iterable(rounds) if page is not None)


def _index(page: Page) -> int:
    return page.page_index
