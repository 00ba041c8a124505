"""Tracks when pages were stored, and the resources that the run had used by then."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.bench.host_meter import HostMeter, HostUse
from pipeline.device.gpu_meter import GpuMark, GpuMeter
from pipeline.reports.progress import Silent
from pipeline.types import PageResult

_NOT_READ = frozenset({"failed", "quarantined"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A moment of a run. at_s: time.perf_counter(). host: as measured last, at most half a second ago."""

    at_s: float
    gpu: GpuMark
    host: HostUse


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored(Moment):
    """The moment a page was stored. is_read: whether it was read; a failed page was not."""

    num_tokens: int
    is_read: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A part of a run and the pages stored in it. num_pages: those that were read; num_failed: the others.

    The time that the failed pages took is included.
    """

    start: Moment
    end: Moment
    num_pages: int
    num_failed: int
    num_tokens: int

    @property
    def seconds(self) -> float:
        """The length of the stretch."""
        return self.end.at_s - self.start.at_s

    @property
    def pages_s(self) -> float:
        """The pages read per second."""
        return self.num_pages / self.seconds

    @property
    def tokens_s(self) -> float:
        """The tokens per second."""
        return self.num_tokens / self.seconds

    @property
    def cpu_s_a_page(self) -> float:
        """The CPU seconds per page that was read."""
        return (self.end.host.cpu_s - self.start.host.cpu_s) / self.num_pages


class PageTrack(Silent):
    """A progress display that records when pages are stored. gpu: may be set during the run."""

    def __init__(self, host: HostMeter) -> None:
        self._host = host
        self.gpu: GpuMeter | None = None
        self.pages: list[Stored] = []
        self.statuses: Counter[str] = Counter()

    def page_done(self, result: PageResult) -> None:
        now = self.moment()
        self.statuses[result.status] += 1
        self.pages.append(
            Stored(
                at_s=now.at_s,
                gpu=now.gpu,
                host=now.host,
                num_tokens=result.num_tokens,
                is_read=result.status not in _NOT_READ,
            )
        )

    @property
    def num_read(self) -> int:
        """The number of pages that were read."""
        return sum(page.is_read for page in self.pages)

    def moment(self) -> Moment:
        """Returns the current moment."""
        mark = self.gpu.mark() if self.gpu else GpuMark()
        return Moment(at_s=time.perf_counter(), gpu=mark, host=self._host.latest)

    def since(self, start: Moment) -> Stretch | None:
        """Returns the stretch from a moment until the last page was stored; None if no page was read in it."""
        return self._stretch(start, [page for page in self.pages if page.at_s >= start.at_s])

    def steady(self, at_once: int) -> Stretch | None:
        """Returns the steady stretch, from when the first at_once pages were stored to the end.

        It is None with less than twice as many pages.
        The work done on other pages before it is offset by empty slots at its end. Without that offset a run whose
        pages all have the same length, and so end in waves, could appear faster than its hardware.
        """
        if len(self.pages) < 2 * at_once:
            return None
        return self._stretch(self.pages[at_once - 1], self.pages[at_once:])

    @staticmethod
    def _stretch(start: Moment, pages: Sequence[Stored]) -> Stretch | None:
        num_read = sum(page.is_read for page in pages)
        if not num_read or pages[-1].at_s <= start.at_s:
            return None
        return Stretch(
            start=start,
            end=pages[-1],
            num_pages=num_read,
            num_failed=len(pages) - num_read,
            num_tokens=sum(page.num_tokens for page in pages),
        )
