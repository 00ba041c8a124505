"""Queues the pages that are still to be read."""

from collections import deque
from collections.abc import Iterator

from ocr.decoding.gpu.schedule.entries import Item, Page

# A prefill of few pages waits this many steps for further ones.
_PATIENCE = 4


class Arrivals:
    """A source of pages, and the pages that wait for a slot. exhausted: whether the source is at its end."""

    def __init__(self, source: Iterator[Item | None]) -> None:
        self._source = source
        self._count = 0
        self._patience = 0
        self.exhausted = False
        self.waiting: deque[Page] = deque()

    def pull(self, count: int) -> list[Page]:
        """Pulls pages until as many wait as there are free slots; returns those that have no room for any output."""
        unreadable: list[Page] = []
        while len(self.waiting) < count and (page := self._next()) is not None:
            (self.waiting if page.reading.budget > 0 else unreadable).append(page)
        return unreadable

    def are_enough(self, count: int) -> bool:
        """Returns whether this many pages wait, or the pages have waited for others long enough."""
        self._patience += 1
        if len(self.waiting) < count and not self.exhausted and self._patience <= _PATIENCE:
            return False
        self._patience = 0
        return True

    def _next(self) -> Page | None:
        """Returns the source's next page; None where there is none now."""
        if self.exhausted:
            return None
        try:
            item = next(self._source)
        except StopIteration:
            self.exhausted = True
            return None
        if item is None:
            return None
        self._count += 1
        return Page(
            index=self._count - 1,
            prompt=item.prompt,
            num_prompt=item.num_prompt,
            reading=item.reading,
        )
