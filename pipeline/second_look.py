"""A doubtful page is read once more, cut into small parts, and the better of both readings is kept.

A reader that loses its line among many that look alike rarely does so again where only a few of them stand on
what it sees. That costs a second reading, so only pages whose confidence says that they went wrong get one.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace

from pipeline.joining import join, readings, summed
from pipeline.types import DividedPage, Page, PageError, PageResult, ReadyPage, RenderedPage

# How often the waiting main thread looks whether it should stop.
_POLL_S = 0.5
_ENDED_WELL = ("ok", "blank")


class SecondLook:
    """render: cuts a page into small parts. read: gives a result for each part. check: may raise to stop.

    below: the confidence under which a page is doubtful; 0 never is.
    """

    def __init__(
        self,
        *,
        render: Callable[[Page], Future[ReadyPage | PageError]],
        read: Callable[[Sequence[RenderedPage]], list[PageResult]],
        check: Callable[[], None],
        below: float,
    ) -> None:
        self._render, self._read, self._check, self._below = render, read, check, below

    def __call__(self, first: PageResult) -> PageResult:
        """Returns the page's better result, with the time that both took."""
        if first.confidence is None or first.confidence >= self._below:
            return first
        future = self._render(first.page)
        while not wait([future], timeout=_POLL_S).done:
            self._check()
        page = future.result()
        if not isinstance(page, DividedPage):  # no clear white space to cut along, or the file is gone
            return first
        second = join(page, self._read(readings(page)))
        return replace(max(first, second, key=_merit), timings=tuple(summed([first, second])))


def _merit(result: PageResult) -> tuple[bool, float]:
    return result.status in _ENDED_WELL, result.confidence or 0.0
