"""Divides the wall time of decoding among pages: each moment is shared equally by the pages being read in it."""

import time


class ShareClock:
    """Runs between resume() and pause(). share: the seconds of a page that was read from the very beginning.

    A page's share is the difference of `share` between leaving and entering, so that all shares together, plus the
    prefills that were deducted, are the time that the clock ran while anything was read.
    """

    def __init__(self) -> None:
        self.share = 0.0
        self._num_pages = 0
        self._unshared = 0.0
        self._last = time.perf_counter()

    def resume(self) -> None:
        """Starts the clock again; the time since pause() counts for no page."""
        self._last = time.perf_counter()

    def pause(self) -> None:
        """Stops the clock."""
        self._tick()
        if not self._num_pages:  # time in which nothing was read
            self._unshared = min(self._unshared, 0.0)

    def take_prefill(self, seconds: float) -> None:
        """Deducts seconds that are counted as a prefill's."""
        self._unshared -= seconds

    def enter(self, *, shares: bool = True) -> float:
        """Counts a page in; returns the value to pass to leave().

        shares: whether the time so far is shared; not while another prefill in flight has yet to be deducted from it.
        """
        self._tick(shares=shares)
        self._num_pages += 1
        return self.share

    def leave(self, entered: float) -> float:
        """Counts a page out; returns its share in seconds."""
        self._tick()
        self._num_pages -= 1
        return self.share - entered

    def _tick(self, *, shares: bool = True) -> None:
        now = time.perf_counter()
        self._unshared += now - self._last
        self._last = now
        if shares and self._num_pages and self._unshared > 0:
            self.share += self._unshared / self._num_pages
            self._unshared = 0.0
