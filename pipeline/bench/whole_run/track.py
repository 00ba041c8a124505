"""Tracks when pages were stored, and the resources that the run had used by then."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipeline.bench.host_meter import HostMeter, HostUse
from pipeline.bench.whole_run.subject import Subject
from pipeline.config.schema import Config
from pipeline.device.gpu_meter import GpuMark, GpuMeter
from pipeline.reports.progress import Silent
from pipeline.reports.summary import RunSummary
from pipeline.types import PageResult

if TYPE_CHECKING:
    from ocr.families.page_model import PageModel

_NOT_READ = frozenset({"failed", "quarantined"})
# A part of a run, as JSON values. num_pages: read in it; num_failed: not read, whose time is included. gpu_busy: share
# of the time in which at least one kernel ran, however little of the GPU it filled; None where that was not measured.
Stretch = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A moment of a run. at_s: time.perf_counter(). host: as measured last, at most half a second ago.

    num_tokens, is_read: of the page that was stored then, if any was; a failed page was not read.
    """

    at_s: float
    gpu: GpuMark
    host: HostUse
    num_tokens: int = 0
    is_read: bool = False


class PageTrack(Silent):
    """A progress display that records when pages are stored. gpu: may be set during the run."""

    def __init__(self, host: HostMeter) -> None:
        self._host = host
        self.gpu: GpuMeter | None = None
        self.pages: list[Moment] = []
        self.statuses: Counter[str] = Counter()

    def page_done(self, result: PageResult) -> None:
        self.statuses[result.status] += 1
        is_read = result.status not in _NOT_READ
        self.pages.append(replace(self.moment(), num_tokens=result.num_tokens, is_read=is_read))

    @property
    def num_read(self) -> int:
        """The number of pages that were read."""
        return sum(page.is_read for page in self.pages)

    def moment(self) -> Moment:
        """Returns the current moment."""
        mark = self.gpu.mark if self.gpu else GpuMark()
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

    def _stretch(self, start: Moment, pages: Sequence[Moment]) -> Stretch | None:
        num_read = sum(page.is_read for page in pages)
        if not num_read or pages[-1].at_s <= start.at_s:
            return None
        end, seconds = pages[-1], pages[-1].at_s - start.at_s
        reading = self.gpu.reading(start.gpu, end.gpu) if self.gpu else None
        return {
            "num_pages": num_read,
            "num_failed": len(pages) - num_read,
            "seconds": seconds,
            "pages_s": num_read / seconds,
            "tokens_s": sum(page.num_tokens for page in pages) / seconds,
            "cpu_s_a_page": (end.host.cpu_s - start.host.cpu_s) / num_read,
            "gpu_busy": None if reading is None else reading.busy_share,
        }


@dataclass(slots=True, kw_only=True)
class Measured:
    """A finished run. age_s: the process's age when the benchmark was entered; started, loaded: moments of the run.

    is_here: whether the model was in this process rather than in processes of its own. output_tokens: as was asked for.
    """

    config: Config
    summary: RunSummary
    track: PageTrack
    host: HostMeter
    subject: Subject
    model: "PageModel"
    output_tokens: int | None
    age_s: float
    started: Moment
    loaded: Moment
    wall_s: float
    is_here: bool = True
