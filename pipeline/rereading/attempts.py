"""From what a worker gave of a page to the attempts at it: read, looked at a second time, and up the ladder."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from pipeline.config.retry_steps import Step, steps_of
from pipeline.config.schema import Config, tile_settings
from pipeline.device.service import ModelService
from pipeline.device.startup.loading import rereadings
from pipeline.documents.script import foreign_script, known_scripts
from pipeline.documents.settings import TileSettings
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.outcome.doubt import NONE_READ, counted, doubted, doubtful_below, incomplete, judged
from pipeline.outcome.results import blank_result, embedded_result, failed_result
from pipeline.outcome.script_check import script_flag
from pipeline.rereading.joining import join, readings
from pipeline.rereading.ladder import Ladder
from pipeline.rereading.second_look import Render, SecondLook
from pipeline.text_layer.agreement import agreement, layer_of
from pipeline.types import (
    DividedPage,
    EmbeddedPage,
    Page,
    PageError,
    PageResult,
    ReadablePage,
    ReadyPage,
    RenderedPage,
)

_LOOKING = TileSettings(parts=True)


def needs_model(outcome: ReadyPage | PageError) -> bool:
    """Returns whether the model is given what a worker gave of a page; the others have come to an end by then."""
    if isinstance(outcome, (PageError, EmbeddedPage)):
        return False
    return not (isinstance(outcome, RenderedPage) and outcome.blank)


class PageReader:
    """For the event loop's thread.

    workers: render pages anew. model: reads them, and is loaded when first asked. keep: is given the first reading of a
    page of which a better one is tried.
    """

    def __init__(
        self,
        config: Config,
        workers: WorkerPool,
        model: ModelService,
        keep: Callable[[PageResult], None] = lambda first: None,
    ) -> None:
        self._model, self._keep = model, keep
        self._doubtful_below = doubtful_below(config)
        self._compares = config.text_layer == "compare"
        self._scripts = known_scripts(config.model)
        self._second_look = SecondLook(
            render_fine=partial(workers.render, cut="fine"),
            render_whole=partial(workers.render, cut="never"),
            read=partial(self._results, is_first=False),
            below=config.tile.retry_below if tile_settings(config).parts else 0.0,
        )
        self._ladder = Ladder(
            steps={
                "pdf": steps_of(config, "pdf", workers.render_settings),
                "image": steps_of(config, "image", workers.render_settings),
            },
            below=config.ladder.below,
            render=lambda page, step: workers.render(page, render=step.render, tile=step.tile),
            read=lambda rendered, step: self._results(rendered, step=step, is_first=False),
            judge=workers.layer,
        )
        self._judge = workers.layer
        # Where pages are never read in parts, no worker has looked whether they show print: that takes 0.1 s a page.
        self._look = None if tile_settings(config).parts else partial(workers.render, tile=_LOOKING)
        self._config = config
        self._rereadings: asyncio.Semaphore | None = None

    async def __call__(
        self, page: Page, outcome: ReadyPage | PageError, dropped: Callable[[int], None]
    ) -> list[PageResult]:
        """Returns the attempts at a page, the first reading first; ladder.best() says which is the page's.

        dropped: is told the bytes of views that are no longer held; the caller must not hold them either.
        """
        if isinstance(outcome, PageError):
            return [failed_result(page, outcome)]
        if isinstance(outcome, EmbeddedPage):
            embedded = embedded_result(outcome)
            if outcome.missing:
                embedded = doubted(embedded, outcome.missing)
            if outcome.instead_of is None:
                return [embedded]
            return [failed_result(page, outcome.instead_of), replace(embedded, rung="layer")]
        if isinstance(outcome, RenderedPage) and outcome.blank:
            return [blank_result(outcome)]
        reading, num_bytes = self._results(readings(outcome), dropped), outcome.num_bytes
        outcome = outcome.without_views()
        results = await reading
        dropped(num_bytes)  # also those that the encoder's character head looked at until now
        attempts, outcome = await self._better(outcome, results)
        return [self._stored(outcome, made) for made in self._compared(outcome, attempts)]

    def _stored(self, ready: ReadablePage, made: PageResult) -> PageResult:
        """An attempt as it is to be stored, with all doubt that what is known of its page casts on it."""
        if made.status == "blank" and ready.shows_print:
            made = doubted(made, NONE_READ)
        if isinstance(ready, DividedPage):
            made = counted(made, ready.num_letters)
        made = replace(made, script=script_flag(ready, made, self._scripts))
        return incomplete(judged(made, below=self._doubtful_below), ready.missing)

    async def _better(
        self, ready: ReadablePage, results: list[PageResult]
    ) -> tuple[list[PageResult], ReadablePage]:
        """The attempts, given the results of the first one's readings, and what is known of the page after them."""
        if self._second_look.wants(results):
            self._keep_first(ready, join(ready, results))
            async with self._again():
                first = await self._second_look(ready, results)
        else:
            first = await self._second_look(ready, results)
        if first.status == "blank" and self._look is not None:
            ready = await self._looked_at(ready, self._look)
        if first.status == "blank" and first.page.kind == "pdf":
            first, ready = await self._contradicted(first, ready)
        if not self._ladder.wants(first):
            return [first], ready
        self._keep_first(ready, first)
        is_foreign = foreign_script(ready.script, self._scripts) is not None or first.script is not None
        # A pattern is not decoded (pipeline.stages.decode), and stays one however it is cut: that took minutes.
        is_pattern = first.status == "doubtful" and not first.num_tokens
        async with self._again():
            return await self._ladder(ready, first, reads=not (is_foreign or is_pattern))

    def _again(self) -> asyncio.Semaphore:
        """Bounds how many pages are read again at once. Asked for a page that was read, so the device is known."""
        if self._rereadings is None:
            self._rereadings = asyncio.Semaphore(rereadings(self._config, self._model.device))
        return self._rereadings

    def _keep_first(self, ready: ReadablePage, first: PageResult) -> None:
        """Where there is a text: that a page has none is nobody's loss."""
        if first.parsed is not None and first.parsed.text.strip():
            self._keep(self._stored(ready, first))

    async def _looked_at(self, ready: ReadablePage, look: Render) -> ReadablePage:
        """The page, known to show print or not: nobody has looked before now, and nothing was read of it."""
        async with self._again():
            seen = await asyncio.wrap_future(look(ready.page))
            shows_print = isinstance(seen, (RenderedPage, DividedPage)) and seen.shows_print
        return replace(ready, shows_print=shows_print)

    async def _contradicted(self, blank: PageResult, ready: ReadablePage) -> tuple[PageResult, ReadablePage]:
        """A page of which nothing was read is in doubt where its text layer can be seen on it."""
        judged_page = await asyncio.wrap_future(self._judge(ready))
        layer = None if isinstance(judged_page, PageError) else layer_of(judged_page)
        if isinstance(judged_page, PageError) or layer is None or not layer.is_visible:
            return blank, ready
        return doubted(blank, NONE_READ), judged_page

    async def _results(
        self,
        rendered: Sequence[RenderedPage],
        dropped: Callable[[int], None] | None = None,
        step: Step | None = None,
        *,
        is_first: bool = True,
    ) -> list[PageResult]:
        """A result for each page or part, in order. dropped: is told the bytes of views that are no longer held.

        is_first: what is read again comes before pages that are read for the first time, or it would wait for them all.
        """
        reading = [self._model.read(part, dropped, step, is_urgent=not is_first) for part in rendered]
        del rendered
        return list(await asyncio.gather(*reading))

    def _compared(self, ready: ReadablePage, attempts: list[PageResult]) -> list[PageResult]:
        """With how far each text agrees with the text layer, where that can be trusted and somebody asks."""
        layer = layer_of(ready)
        if not self._compares or layer is None or not layer.is_trustworthy:
            return attempts
        return [
            attempt
            if attempt.parsed is None or attempt.source == "layer"
            else replace(attempt, layer_agreement=agreement(attempt.parsed.text, layer.text))
            for attempt in attempts
        ]
