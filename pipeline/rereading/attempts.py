"""Makes the attempts at a page that a worker has rendered: its first reading, then the retry steps."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import get_args

from numpy import ndarray

from ocr.model_files.locate import LINES, find_directory
from ocr.orientation.detect import shows_words
from pipeline.config.retry_steps import Step, steps_of
from pipeline.config.schema import Config, reads_lines
from pipeline.device.startup.loading import rereadings
from pipeline.documents.script import known_scripts
from pipeline.documents.settings import TileSettings
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.outcome.doubt import NONE_READ, as_stored, doubted, doubtful_below, foreign_script
from pipeline.outcome.results import blank_result, failed_result
from pipeline.readers.reader import Reader
from pipeline.readers.reader_plan import ReaderPlan
from pipeline.rereading.retry import PageState, RetryStep, Tools, retry, retry_steps
from pipeline.text_layer.agreement import agreement
from pipeline.types import EmbeddedPage, Kind, Page, PageResult, ReadyPage, RenderedPage
from storage.types import PageError

# A page in grey, to look for print on it.
_AS_DRAWN = TileSettings(lines=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PutOff:
    """A page that waits for another model's turn. steps: those left, beginning with that model's."""

    state: PageState
    steps: Sequence[RetryStep]

    @property
    def page(self) -> Page:
        return self.state.ready.page

    @property
    def model(self) -> str:
        model = self.steps[0].model
        assert model is not None, "no page waits for the configured model"
        return model


class Attempts:
    """Makes attempts at pages until their text is good enough. Use it from the event loop's thread only.

    workers: render pages again. plan: says who reads them. begin: called before a reader that marks pages gets one, and
    told whether no other page is being read. keep: called with a page's first reading when a better one is going to be
    tried. waits: tells whether a model that a retry step names has to wait for its turn.
    """

    def __init__(
        self,
        config: Config,
        workers: WorkerPool,
        plan: ReaderPlan,
        keep: Callable[[PageResult], None] = lambda first: None,
        *,
        begin: Callable[[Page, Reader[RenderedPage], bool], Awaitable[None]] = lambda page, reader, alone: (
            reader.ready(alone=alone)
        ),
        waits: Callable[[str], bool] = lambda model: False,
    ) -> None:
        self._waits = waits
        self._config, self._workers, self._plan = config, workers, plan
        self._keep, self._begin = keep, begin
        self._scripts = known_scripts(config.model)
        folder, below = find_directory(config.model), config.store.doubtful_below
        if below is None:
            below = doubtful_below(folder / LINES if reads_lines(config) else folder)
        self._stored = partial(as_stored, known=self._scripts, below=below)
        tools = Tools(
            render=lambda page, step: workers.render(page, render=step.render, tile=step.tile),
            read=self._read_again,
            judge=workers.layer,
        )
        kinds: tuple[Kind, ...] = get_args(Kind)
        steps = {kind: steps_of(config, kind, workers.render_settings) for kind in kinds}
        self._further = {kind: retry_steps(tools, steps[kind], config.ladder.below) for kind in kinds}
        self._rereadings: asyncio.Semaphore | None = None

    async def __call__(
        self,
        page: Page,
        outcome: ReadyPage | PageError,
        dropped: Callable[[int | None], None],
        *,
        alone: bool = False,
    ) -> list[PageResult] | PutOff:
        """Returns the attempts at a page in the order they were made; comparing.best() picks the page's result.

        A page whose next step's model has to wait is put off: go_on() makes the further attempts.
        dropped: called with the bytes of views that are released, None once all are; the caller must not hold them
        either. alone: no other page is being read at the same time.
        """
        reader = self._plan.first
        if not isinstance(outcome, RenderedPage) or outcome.blank:  # its text is there, or there is none
            reader.leave_out(page)
        if isinstance(outcome, EmbeddedPage):
            outcome = await self._plan.layers.checked(outcome, dropped)
        if isinstance(outcome, PageError):
            return [failed_result(page, outcome)]
        if isinstance(outcome, EmbeddedPage):
            taken = await self._plan.layers.read(outcome)
            dropped(None)
            if outcome.instead_of is None:
                return [taken]
            return [failed_result(page, outcome.instead_of), replace(taken, rung="layer")]
        if outcome.blank:
            return [blank_result(outcome)]
        if reader.marks_pages:
            await self._begin(page, reader, alone)
        reading = reader.read(outcome, dropped)
        outcome = outcome.without_views()
        first = await reading
        dropped(None)  # those too that were kept until now for the boxes
        made, left = await self._made(outcome, first)
        return self._ended(made, left)

    async def go_on(self, put_off: PutOff) -> list[PageResult] | PutOff:
        """Takes the steps that are left of a page; returns what a call does."""
        async with self._again():
            left = await retry(put_off.state, put_off.steps, self._waits)
        return self._ended(put_off.state, left)

    def _ended(self, page: PageState, left: Sequence[RetryStep]) -> list[PageResult] | PutOff:
        if left:
            return PutOff(state=page, steps=left)
        return [self._stored(attempt, page.ready) for attempt in self._compared(page.ready, page.attempts)]

    async def _made(self, ready: RenderedPage, first: PageResult) -> tuple[PageState, Sequence[RetryStep]]:
        """Returns a page with the attempts at it and what they told of it, and the steps that have to wait."""
        page = PageState(ready=ready, attempts=[first])
        if first.status == "blank" and ready.page.kind != "video":
            await self._look_for_print(page)
        first = page.attempts[0]
        is_foreign = foreign_script(page.ready.script, self._scripts) is not None
        # A pattern is not decoded (pipeline.stages.decode), and stays one however it is cut: trying took minutes.
        is_pattern = first.status == "doubtful" and not first.num_tokens
        page.is_legible = not (is_foreign or is_pattern)
        return page, await self._retry(page, self._further[ready.page.kind])

    async def _retry(self, page: PageState, steps: Sequence[RetryStep]) -> Sequence[RetryStep]:
        """Takes the steps that apply, and returns those that have to wait.

        Keeps the first reading before if it has text; one without is no loss.
        """
        if not any(step.applies(page) for step in steps):
            return ()
        first = page.attempts[0]
        if first.parsed is not None and first.parsed.text.strip():
            self._keep(self._stored(first, page.ready))
        async with self._again():
            return await retry(page, steps, self._waits)

    def _again(self) -> asyncio.Semaphore:
        """Returns the semaphore that bounds how many pages are read again at once.

        It is created after a page was read, so that the device is known.
        """
        if self._rereadings is None:
            self._rereadings = asyncio.Semaphore(rereadings(self._config, self._plan.device))
        return self._rereadings

    async def _look_for_print(self, page: PageState) -> None:
        """Checks a blank page for print where the line reader has not, and for a text layer that can be seen."""
        if not self._plan.first.sees_print:
            async with self._again():
                seen = await asyncio.wrap_future(self._workers.render(page.ready.page, tile=_AS_DRAWN))
            match seen:
                case RenderedPage(grey=ndarray() as grey) if shows_words(grey):
                    page.attempts[0] = doubted(page.attempts[0], NONE_READ)
        if page.ready.page.kind != "pdf":
            return
        judged_page = await asyncio.wrap_future(self._workers.layer(page.ready))
        layer = None if isinstance(judged_page, PageError) else judged_page.layer
        if not isinstance(judged_page, PageError) and layer is not None and layer.is_visible:
            page.ready, page.attempts[0] = judged_page, doubted(page.attempts[0], NONE_READ)

    async def _read_again(self, rendered: RenderedPage, step: Step) -> PageResult:
        """Reads a page before those that are read for the first time, which it would otherwise have to wait for."""
        reader = self._plan.reader(step)
        if reader.marks_pages and reader is not self._plan.first:  # which has begun the page
            await self._begin(rendered.page, reader, False)
        reading = reader.read(rendered, step=step)
        del rendered  # so that its views are freed once they are encoded
        return await reading

    def _compared(self, ready: RenderedPage, attempts: list[PageResult]) -> list[PageResult]:
        """Returns the attempts, each with its text layer agreement where that is asked for and the layer is trusted."""
        layer = ready.layer
        if self._config.text_layer != "compare" or layer is None or not layer.is_trustworthy:
            return attempts
        return [
            attempt
            if attempt.parsed is None or attempt.source == "layer"
            else replace(attempt, layer_agreement=agreement(attempt.parsed.text, layer.text))
            for attempt in attempts
        ]
