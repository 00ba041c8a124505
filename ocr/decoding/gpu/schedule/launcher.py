"""Launches decode steps: one token for every page, or several for pages with drafts."""

import logging
import time
from collections.abc import Sequence

import torch

from ocr.decoding.gpu.forward.steps import DeviceSteps
from ocr.decoding.gpu.schedule.drafting import Drafting, smallest_step
from ocr.decoding.gpu.schedule.entries import EngineStats, Entry, Page, Record
from ocr.decoding.gpu.schedule.in_flight import InFlight
from ocr.decoding.gpu.schedule.scheduler import Scheduler, rows_of

LOGGER = logging.getLogger("ocrbatch")
# With fewer pages, two halves save less of the host's time than they cost by reading the weights twice.
_LEAST_HALVED = 24


class Launcher:
    """Launches steps for the scheduler's pages. lag: 1 where a step is launched before the host has checked the last.

    drafting: whether the last step had drafts. step_tokens: the most tokens that it fed to a row. is_usual: set to True
    before a step; False after it if it did more than usual (a capture, a change to or from drafts).
    """

    def __init__(
        self,
        steps: DeviceSteps,
        scheduler: Scheduler,
        in_flight: InFlight,
        drafts: Drafting,
        stats: EngineStats,
        lag: int,
    ) -> None:
        self._steps = steps
        self._scheduler = scheduler
        self._in_flight = in_flight
        self._drafts = drafts
        self._stats = stats
        self._lag = lag
        self._turn = 0
        self.drafting, self.is_usual = False, True
        self.step_tokens = 1

    def launch(self, pages: Sequence[Page]) -> bool:
        """Launches the next step for these, all that are being read; returns whether its check may wait."""
        rows = self._rows_with_drafts()
        self.step_tokens = self._drafts.step_tokens(pages, rows, drafting=self.drafting)
        return self._without_drafts() if self.step_tokens == 1 else self._with_drafts(self.step_tokens)

    def _without_drafts(self) -> bool:
        """Launches the next step for all pages, without drafts; returns whether its check may wait."""
        if self.drafting:
            self._in_flight.look(keep_step=False)
            self.drafting = self.is_usual = False
            if not (pages := self._scheduler.pages):
                return False
            self._steps.feed(rows_of(pages), [page.fed[-1] for page in pages])
        self._scheduler.compact()
        if (size := self._steps.to_capture(self._scheduler.top)) is not None:
            self._in_flight.look(keep_step=False)  # capturing spoils the last step's logits
            self.is_usual = False
            self._steps.capture(size)
            self._scheduler.compact()
        self._scheduler.grow()
        pages = self._scheduler.pages
        if not pages:
            return False
        pending = self._steps.step(self._scheduler.top)
        self._scheduler.stepped()
        self._stats.steps += 1
        self._stats.rows += len(pages)
        self._in_flight.add(
            Record(
                pending=pending,
                rows=self._scheduler.rows,
                pages=pages,
                generations=[page.generation for page in pages],
                step=self._stats.steps,
            )
        )
        return self._lag > 0

    def _with_drafts(self, tokens: int) -> bool:
        """Launches a step with drafts for pages whose last token is known; returns whether its check may wait."""
        if not self.drafting:
            self._in_flight.look(keep_step=False)
            self.drafting, self.is_usual = True, False
        pages, in_flight = self._scheduler.pages, self._in_flight.pages()
        halved = self._halves(len(pages))
        if in_flight and not halved:
            return False  # all pages go into one step next time
        idle = [page for page in pages if page not in in_flight]
        if halved:
            idle = sorted(idle, key=lambda page: page.turn)[: -(-len(pages) // 2)]
        if idle and (size := self._steps.to_capture(len(idle), tokens)) is not None:
            self._in_flight.look(keep_step=False)
            self._capture_with_drafts(size, tokens)
            return False
        self._scheduler.grow()
        if not (ready := [page for page in idle if page.row is not None]):
            return False
        self._step_drafts(ready, tokens)
        return self._lag > 0 and (bool(in_flight) or len(ready) < len(pages))

    def _capture_with_drafts(self, rows: int, tokens: int) -> None:
        """Captures a step with drafts; where that fails, switches drafts off."""
        self.is_usual = False
        try:
            self._steps.capture(rows, tokens)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            self._drafts.switch_off()
            LOGGER.warning(
                "steps that verify drafts cannot be captured as CUDA graphs: %s; going on without drafts, only slower",
                " ".join(f"{type(error).__name__}: {error}".split())[:300],
            )

    def _step_drafts(self, pages: Sequence[Page], tokens: int) -> None:
        started = time.perf_counter()
        self._turn += 1
        drafts = []
        for page in pages:
            page.turn = self._turn
            drafted = self._drafts.propose(page, tokens - 1)
            drafts.append(drafted[: self._scheduler.stretch(page, 1 + len(drafted)) - 1])
        enough = smallest_step(1 + max(map(len, drafts)))
        if self._steps.is_ready(len(pages), enough):
            tokens = min(tokens, enough)
        fed = [[page.fed[-1], *drafted] for page, drafted in zip(pages, drafts, strict=True)]
        self._stats.host_s += time.perf_counter() - started
        pending = self._steps.step_drafts(rows_of(pages), fed, tokens)
        entries = [
            Entry(
                page=page,
                generation=page.generation,
                source=place * tokens,
                position=page.length + 1,
                drafted=drafted,
            )
            for place, (page, drafted) in enumerate(zip(pages, drafts, strict=True))
        ]
        stats = self._stats
        stats.steps += 1
        stats.draft_steps += 1
        stats.rows += len(pages)
        stats.draft_rows += len(pages)
        stats.drafted += sum(map(len, drafts))
        self._in_flight.add(
            Record(entries=entries, pending=pending, step=stats.draft_steps, with_drafts=True)
        )

    def _halves(self, count: int) -> bool:
        """Returns whether this many pages take turns in two halves in steps with drafts."""
        return self._lag > 0 and count >= _LEAST_HALVED

    def _rows_with_drafts(self) -> int:
        """Returns the rows of the graph of the next step with drafts."""
        count = len(self._scheduler.pages)
        return self._steps.bucket(-(-count // 2) if self._halves(count) else count)
