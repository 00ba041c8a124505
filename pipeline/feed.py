"""Files to rendered pages, ahead of the model: the queues of a run, bounded in bytes.

Probing and rendering go on in worker processes while the main thread reads a batch. How far they may be
ahead is a budget of bytes, since a page may weigh anything from 0.8 to 16 MB, and one in parts several times as
much: a page in a worker counts
as the heaviest one possible, a rendered page as what it is.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, Protocol

from ocr.parts.plan import MAX_PARTS, MAX_TILES
from ocr.tiling import MODES, TILE_PX
from pipeline.results import blank_result, failed_result
from pipeline.stages.settings import TileSettings
from pipeline.types import Document, Page, PageError, PageResult, ReadyPage, RenderedPage
from pipeline.walk import Candidate

# Files looked into, and pages known, ahead of their turn: all that is kept of one is a few numbers.
PROBES_AHEAD = 16
PAGES_AHEAD = 256
# How often a waiting main thread looks whether it should stop.
POLL_S = 0.5
# A batch that is not full goes ahead when no worker has finished anything for so long.
PATIENCE_S = 2.0


class Workers(Protocol):
    """What the feed needs of pipeline.workers.WorkerPool."""

    def probe(self, path: str) -> Future[Document]: ...
    def render(self, page: Page) -> Future[ReadyPage | PageError]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """to_read: pages for the model. ended: pages that are blank or failed. Both empty: nothing is left."""

    to_read: list[ReadyPage]
    ended: list[PageResult]

    def __bool__(self) -> bool:
        return bool(self.to_read or self.ended)


def heaviest_page_bytes(settings: TileSettings) -> int:
    """Returns the size of the largest views a page can have, those of all its parts together."""
    spec = MODES[settings.mode]
    if not spec.crop:
        return 3 * spec.base_px**2
    if settings.parts:
        return 3 * (MAX_PARTS * spec.base_px**2 + max(MAX_TILES, settings.max_tiles) * TILE_PX**2)
    return 3 * (spec.base_px**2 + settings.max_tiles * TILE_PX**2)


class Feed:
    """Pulls inputs through the workers. Not for more than one thread.

    plan: called once for each document, in the main thread; returns its pages to read.
    check: called at least every POLL_S; may raise to stop.
    """

    def __init__(
        self,
        inputs: Iterator[Candidate | Document],
        workers: Workers,
        *,
        plan: Callable[[Document], Sequence[Page]],
        check: Callable[[], None],
        budget_bytes: int,
        page_bytes: int,
    ) -> None:
        self._inputs = inputs
        self._workers = workers
        self._plan = plan
        self._check = check
        self._budget_bytes = budget_bytes
        self._page_bytes = page_bytes
        self._probing: dict[Future[Document], None] = {}  # a dict keeps the order
        self._waiting: deque[Page] = deque()
        self._rendering: dict[Future[ReadyPage | PageError], Page] = {}
        self._ready: deque[ReadyPage] = deque()
        self._ended: list[PageResult] = []

    @property
    def held_bytes(self) -> int:
        """What pages in workers may become, and rendered pages are."""
        ready = sum(rendered.num_bytes for rendered in self._ready)
        return len(self._rendering) * self._page_bytes + ready

    def take(self, num_pages: int) -> Taken:
        """Returns up to num_pages for the model, as soon as there are so many, or some ended without it.

        Fewer when no more fit the budget, none are left, or the next one takes long.
        """
        idle_s = 0.0
        while True:
            self._fill()
            in_workers: list[Future[Any]] = [*self._probing, *self._rendering]
            if self._ended or len(self._ready) >= num_pages or not in_workers:
                return self._pop(num_pages)
            done, _ = wait(in_workers, timeout=POLL_S, return_when=FIRST_COMPLETED)
            self._check()
            idle_s = 0.0 if done else idle_s + POLL_S
            if idle_s >= PATIENCE_S and self._ready:
                return self._pop(num_pages)
            self._collect()

    def _fill(self) -> None:
        while len(self._probing) < PROBES_AHEAD and len(self._waiting) < PAGES_AHEAD:
            self._check()
            found = next(self._inputs, None)
            if found is None:
                break
            if isinstance(found, Document):
                self._waiting.extend(self._plan(found))
            else:
                self._probing[self._workers.probe(found.path)] = None
        while self._waiting and self._has_room():
            page = self._waiting.popleft()
            self._rendering[self._workers.render(page)] = page

    def _has_room(self) -> bool:
        """Returns whether one more page fits; a first page always does, or nothing would ever move."""
        held_bytes = self.held_bytes
        return held_bytes == 0 or held_bytes + self._page_bytes <= self._budget_bytes

    def _collect(self) -> None:
        for probe in [future for future in self._probing if future.done()]:
            del self._probing[probe]
            self._waiting.extend(self._plan(probe.result()))
        for render in [future for future in self._rendering if future.done()]:
            self._sort(self._rendering.pop(render), render.result())

    def _sort(self, page: Page, outcome: ReadyPage | PageError) -> None:
        if isinstance(outcome, PageError):
            self._ended.append(failed_result(page, outcome))
        elif isinstance(outcome, RenderedPage) and outcome.blank:
            self._ended.append(blank_result(outcome))
        else:
            self._ready.append(outcome)

    def _pop(self, num_pages: int) -> Taken:
        count = min(num_pages, len(self._ready))
        ended, self._ended = self._ended, []
        return Taken(to_read=[self._ready.popleft() for _ in range(count)], ended=ended)
