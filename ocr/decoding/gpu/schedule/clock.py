"""Whose the wall time of reading is: every moment is shared alike by the pages that are being read in it."""

import time


class ShareClock:
    """Runs between resume() and pause(). share: seconds of a page that was there from the beginning.

    A page's share is the difference of `share` between leaving and entering, so that all shares together, and the
    prefills taken off, are the time that the clock ran while anything was read.
    """

    def __init__(self) -> None:
        self.share = 0.0
        self._num_pages = 0
        self._unshared = 0.0
        self._last = time.perf_counter()

    def resume(self) -> None:
        """What passed before is nobody's."""
        self._last = time.perf_counter()

    def pause(self) -> None:
        self._tick()
        if not self._num_pages:  # time in which nothing was read
            self._unshared = min(self._unshared, 0.0)

    def take_prefill(self, seconds: float) -> None:
        """Takes off what is counted as a prefill's."""
        self._unshared -= seconds

    def enter(self) -> float:
        """A page begins; what leave() is to be given."""
        self._tick()
        self._num_pages += 1
        return self.share

    def leave(self, entered: float) -> float:
        """A page ends; its share in seconds."""
        self._tick()
        self._num_pages -= 1
        return self.share - entered

    def _tick(self) -> None:
        now = time.perf_counter()
        self._unshared += now - self._last
        self._last = now
        if self._num_pages and self._unshared > 0:
            self.share += self._unshared / self._num_pages
            self._unshared = 0.0
