"""Reads a page that a worker has rendered: first reading, second look, and the retry steps of the ladder."""

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
from pipeline.types import DividedPage, EmbeddedPage, Page, PageResult, ReadablePage, ReadyPage, RenderedPage
from storage.types import PageError

# Cutting a page into crops also tells whether it shows print.
_WITH_CROPS = TileSettings(parts=True)


def needs_model(outcome: ReadyPage | PageError) -> bool:
    """Returns whether a page needs the model after a worker's outcome; other pages have their result by then."""
    if isinstance(outcome, (PageError, EmbeddedPage)):
        return False
    return not (isinstance(outcome, RenderedPage) and outcome.blank)


class PageReader:
    """Reads pages until their text is good enough. Use it from the event loop's thread only.

    workers: render pages again. model: reads them, and loads when it is first used. keep: called with a page's first
    reading when a better one is going to be tried.
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
        # Where pages are never cut into crops, no worker has checked whether they show print: it takes 0.1 s a page.
        self._check_print = None if tile_settings(config).parts else partial(workers.render, tile=_WITH_CROPS)
        self._config = config
        self._rereadings: asyncio.Semaphore | None = None

    async def __call__(
        self, page: Page, outcome: ReadyPage | PageError, dropped: Callable[[int], None]
    ) -> list[PageResult]:
        """Returns the attempts at a page in the order they were made; ladder.best() picks the page's result.

        dropped: called with the bytes of views that are released; the caller must not hold them either.
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
        dropped(num_bytes)  # including those that were kept until now for the boxes
        attempts, outcome = await self._better(outcome, results)
        return [self._stored(outcome, made) for made in self._compared(outcome, attempts)]

    def _stored(self, ready: ReadablePage, made: PageResult) -> PageResult:
        """Returns an attempt as it is to be stored, with every reason to doubt it that its page gives."""
        if made.status == "blank" and ready.shows_print:
            made = doubted(made, NONE_READ)
        if isinstance(ready, DividedPage):
            made = counted(made, ready.num_letters)
        made = replace(made, script=script_flag(ready, made, self._scripts))
        return incomplete(judged(made, below=self._doubtful_below), ready.missing)

    async def _better(
        self, ready: ReadablePage, results: list[PageResult]
    ) -> tuple[list[PageResult], ReadablePage]:
        """Reads a page again where that may help; returns all attempts, and the page with what they told of it.

        results: of the first attempt's readings.
        """
        if self._second_look.wants(results):
            self._keep_first(ready, join(ready, results))
            async with self._again():
                first = await self._second_look(ready, results)
        else:
            first = await self._second_look(ready, results)
        if first.status == "blank" and self._check_print is not None:
            ready = await self._with_print_checked(ready, self._check_print)
        if first.status == "blank" and first.page.kind == "pdf":
            first, ready = await self._contradicted(first, ready)
        if not self._ladder.wants(first):
            return [first], ready
        self._keep_first(ready, first)
        is_foreign = foreign_script(ready.script, self._scripts) is not None or first.script is not None
        # A pattern is not decoded (pipeline.stages.decode), and stays one however it is cut: trying took minutes.
        is_pattern = first.status == "doubtful" and not first.num_tokens
        async with self._again():
            return await self._ladder(ready, first, reads=not (is_foreign or is_pattern))

    def _again(self) -> asyncio.Semaphore:
        """Returns the semaphore that bounds how many pages are read again at once.

        It is created after a page was read, so that the device is known.
        """
        if self._rereadings is None:
            self._rereadings = asyncio.Semaphore(rereadings(self._config, self._model.device))
        return self._rereadings

    def _keep_first(self, ready: ReadablePage, first: PageResult) -> None:
        """Keeps a first reading that has text; losing one without text costs nothing."""
        if first.parsed is not None and first.parsed.text.strip():
            self._keep(self._stored(ready, first))

    async def _with_print_checked(self, ready: ReadablePage, check: Render) -> ReadablePage:
        """Returns a page with shows_print determined: it was not checked before, and nothing was read on the page."""
        async with self._again():
            seen = await asyncio.wrap_future(check(ready.page))
            shows_print = isinstance(seen, (RenderedPage, DividedPage)) and seen.shows_print
        return replace(ready, shows_print=shows_print)

    async def _contradicted(self, blank: PageResult, ready: ReadablePage) -> tuple[PageResult, ReadablePage]:
        """Returns a blank result as doubtful if the page's text layer is visible on it, and the page with its layer."""
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
        """Reads pages or crops and returns their results in order.

        dropped: called with the bytes of views that are released. is_first: False puts them before all pages that are
        read for the first time, which they would otherwise have to wait for.
        """
        reading = [self._model.read(part, dropped, step, is_urgent=not is_first) for part in rendered]
        del rendered
        return list(await asyncio.gather(*reading))

    def _compared(self, ready: ReadablePage, attempts: list[PageResult]) -> list[PageResult]:
        """Returns the attempts, each with its text layer agreement where that is asked for and the layer is trusted."""
        layer = layer_of(ready)
        if not self._compares or layer is None or not layer.is_trustworthy:
            return attempts
        return [
            attempt
            if attempt.parsed is None or attempt.source == "layer"
            else replace(attempt, layer_agreement=agreement(attempt.parsed.text, layer.text))
            for attempt in attempts
        ]
