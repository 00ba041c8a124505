"""The pages that are still to be read."""

from collections import deque
from collections.abc import Iterator

from ocr.decoding.gpu.schedule.entries import Item, Page

# A prefill of few pages waits so many steps for further ones.
_PATIENCE = 4


class Arrivals:
    """What a source holds, and the pages that wait for a slot. exhausted: whether the source is over."""

    def __init__(self, source: Iterator[Item | None]) -> None:
        self._source = source
        self._count = 0
        self._patience = 0
        self.exhausted = False
        self.waiting: deque[Page] = deque()

    def pull(self, count: int) -> list[Page]:
        """Lets as many pages wait as there are slots. Returns those that may not write anything."""
        unreadable: list[Page] = []
        while len(self.waiting) < count and (page := self._next()) is not None:
            (self.waiting if page.reading.budget > 0 else unreadable).append(page)
        return unreadable

    def are_enough(self, count: int) -> bool:
        """Whether so many pages wait, or have waited for others long enough."""
        self._patience += 1
        if len(self.waiting) < count and not self.exhausted and self._patience <= _PATIENCE:
            return False
        self._patience = 0
        return True

    def _next(self) -> Page | None:
        """None if there is none now."""
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
            draft=item.draft,
        )
