"""Makes the attempts at a page that a worker has rendered: its first reading, then the retry steps."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import get_args

from ocr.orientation.detect import shows_words
from pipeline.config.retry_steps import Step, steps_of
from pipeline.config.schema import Config
from pipeline.device.open_models import Models
from pipeline.device.startup.loading import rereadings
from pipeline.device.threads.page_reader import PageReader
from pipeline.documents.script import foreign_script, known_scripts
from pipeline.documents.settings import TileSettings
from pipeline.errors import WorkersError
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.outcome.doubt import NONE_READ, doubted, doubtful_below, incomplete, judged
from pipeline.outcome.results import blank_result, embedded_result, failed_result
from pipeline.outcome.script_check import script_flag
from pipeline.rereading.font_looks import FontLooks
from pipeline.rereading.further_steps import further_steps
from pipeline.rereading.joining import with_rest
from pipeline.rereading.retry import PageState, RetryStep, Tools, retry
from pipeline.text_layer.agreement import agreement, layer_of
from pipeline.types import EmbeddedPage, Kind, Page, PageResult, ReadyPage, RenderedPage, SeenWords
from storage.types import PageError

LOGGER = logging.getLogger("ocrbatch")
# A page in grey, to look for print on it.
_AS_DRAWN = TileSettings(lines=True)


def needs_model(outcome: ReadyPage | PageError) -> bool:
    """Returns whether the page model is to read a page after a worker's outcome; others need none, or a line reader."""
    if isinstance(outcome, (PageError, EmbeddedPage)):
        return False
    return not (isinstance(outcome, RenderedPage) and (outcome.blank or outcome.grey is not None))


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

    workers: render pages again. models: read them, and load when they are first used. begin: called before a model gets
    a page that it was not first to read. keep: called with a page's first reading when a better one is going to be
    tried.
    waits: tells whether a model that a retry step names has to wait for its turn.
    """

    def __init__(
        self,
        config: Config,
        workers: WorkerPool,
        models: Models,
        keep: Callable[[PageResult], None] = lambda first: None,
        *,
        begin: Callable[[Page, PageReader], Awaitable[None]] | None = None,
        waits: Callable[[str], bool] = lambda model: False,
    ) -> None:
        self._waits = waits
        self._config, self._workers, self._models, self._keep = config, workers, models, keep
        self._lines, self._words, self._begin = models.lines, models.words, begin
        self._looks = None if models.lines is None else FontLooks(models.lines)
        self._doubtful_below = doubtful_below(config)
        self._scripts = known_scripts(config.model)
        tools = Tools(
            render=lambda page, step: workers.render(page, render=step.render, tile=step.tile),
            read=lambda rendered, step: self._read(rendered, step=step),
            judge=workers.layer,
        )
        kinds: tuple[Kind, ...] = get_args(Kind)
        steps = {kind: steps_of(config, kind, workers.render_settings) for kind in kinds}
        self._further = {kind: further_steps(tools, steps[kind], config.ladder.below) for kind in kinds}
        self._rereadings: asyncio.Semaphore | None = None

    async def __call__(
        self, page: Page, outcome: ReadyPage | PageError, dropped: Callable[[int], None]
    ) -> list[PageResult] | PutOff:
        """Returns the attempts at a page in the order they were made; comparing.best() picks the page's result.

        A page whose next step's model has to wait is put off: go_on() makes the further attempts.
        dropped: called with the bytes of views that are released; the caller must not hold them either.
        """
        if isinstance(outcome, EmbeddedPage) and outcome.layer.in_doubt:
            outcome = await self._compared_fonts(outcome, dropped)
        if isinstance(outcome, PageError):
            return [failed_result(page, outcome)]
        if isinstance(outcome, EmbeddedPage):
            embedded = await self._embedded(outcome)
            dropped(outcome.num_bytes)
            if outcome.instead_of is None:
                return [embedded]
            return [failed_result(page, outcome.instead_of), replace(embedded, rung="layer")]
        if isinstance(outcome, RenderedPage) and outcome.blank:
            return [blank_result(outcome)]
        reading, num_bytes = self._read(outcome, dropped), outcome.num_bytes
        outcome = outcome.without_views()
        first = await reading
        dropped(num_bytes)  # including those that were kept until now for the boxes
        made, left = await self._made(outcome, first)
        return self._ended(made, left)

    async def _compared_fonts(
        self, found: EmbeddedPage, dropped: Callable[[int], None]
    ) -> ReadyPage | PageError:
        """Returns a page that is taken from its text layer, or the page to be read where its typefaces are wrong."""
        assert self._looks is not None, "no worker makes such pages otherwise"
        wrong = await self._looks.wrong(found.page, found.layer.in_doubt)
        if not wrong:
            return found
        dropped(found.num_bytes)
        settings = replace(self._workers.render_settings, text_layer="ignore")
        ready = await asyncio.wrap_future(self._workers.render(found.page, render=settings))
        if isinstance(ready, (PageError, EmbeddedPage)):
            return ready
        reason = f"what its typefaces say is not what is drawn ({', '.join(wrong)})"
        return replace(
            ready, layer=replace(found.layer, is_trustworthy=False, is_partial=False, reason=reason)
        )

    async def _embedded(self, outcome: EmbeddedPage) -> PageResult:
        """Returns the result of a page that is taken from its text layer, with what is to be read beside that."""
        if outcome.rest is None:
            embedded = embedded_result(outcome)
        else:
            assert self._lines is not None, "no worker makes such pages otherwise"
            embedded = with_rest(outcome, await asyncio.wrap_future(self._lines.read(outcome.rest)))
        return doubted(embedded, outcome.missing) if outcome.missing else embedded

    async def go_on(self, put_off: PutOff) -> list[PageResult] | PutOff:
        """Takes the steps that are left of a page; returns what a call does."""
        async with self._again():
            left = await retry(put_off.state, put_off.steps, self._waits)
        return self._ended(put_off.state, left)

    def _ended(self, page: PageState, left: Sequence[RetryStep]) -> list[PageResult] | PutOff:
        if left:
            return PutOff(state=page, steps=left)
        return [self._stored(page.ready, attempt) for attempt in self._compared(page.ready, page.attempts)]

    def _stored(self, ready: RenderedPage, made: PageResult) -> PageResult:
        """Returns an attempt as it is to be stored, with every reason to doubt it that its page gives."""
        made = replace(made, script=script_flag(ready, made, self._scripts))
        return incomplete(judged(made, below=self._doubtful_below), ready.missing)

    async def _made(self, ready: RenderedPage, first: PageResult) -> tuple[PageState, Sequence[RetryStep]]:
        """Returns a page with the attempts at it and what they told of it, and the steps that have to wait."""
        page = PageState(ready=ready, attempts=[first])
        if first.status == "blank" and ready.page.kind != "video":
            await self._look_for_print(page)
        first = page.attempts[0]
        is_foreign = foreign_script(page.ready.script, self._scripts) is not None or first.script is not None
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
            self._keep(self._stored(page.ready, first))
        async with self._again():
            return await retry(page, steps, self._waits)

    def _again(self) -> asyncio.Semaphore:
        """Returns the semaphore that bounds how many pages are read again at once.

        It is created after a page was read, so that the device is known.
        """
        if self._rereadings is None:
            self._rereadings = asyncio.Semaphore(rereadings(self._config, self._models.first.device))
        return self._rereadings

    async def _look_for_print(self, page: PageState) -> None:
        """Checks a blank page for print where the line reader has not, and for a text layer that can be seen."""
        if self._lines is None and self._words is None:
            async with self._again():
                seen = await asyncio.wrap_future(self._workers.render(page.ready.page, tile=_AS_DRAWN))
            if isinstance(seen, RenderedPage) and seen.grey is not None and shows_words(seen.grey):
                page.attempts[0] = doubted(page.attempts[0], NONE_READ)
        if page.ready.page.kind != "pdf":
            return
        judged_page = await asyncio.wrap_future(self._workers.layer(page.ready))
        layer = None if isinstance(judged_page, PageError) else layer_of(judged_page)
        if not isinstance(judged_page, PageError) and layer is not None and layer.is_visible:
            page.ready, page.attempts[0] = judged_page, doubted(page.attempts[0], NONE_READ)

    async def _read(
        self,
        rendered: RenderedPage,
        dropped: Callable[[int], None] | None = None,
        step: Step | None = None,
    ) -> PageResult:
        """Reads a page.

        dropped: called with the bytes of views that are released. step: None for the first reading; others go before
        all pages that are read for the first time, which they would otherwise have to wait for.
        """
        if rendered.grey is not None:
            assert self._lines is not None, "no worker makes such pages otherwise"
            return await asyncio.wrap_future(self._lines.read(rendered))
        models = self._models
        model = models.first if step is None or step.model is None else models.others[step.model]
        is_first = self._lines is None and model is models.first  # which has begun the page
        if self._begin is not None and not is_first:
            await self._begin(rendered.page, model)
        seen = self._seen(rendered)
        if seen is not None:
            rendered = replace(rendered, ink=None, seen=())
            dropped = None if dropped is None else _after(seen, dropped)
        reading = model.read(rendered, dropped, step, is_urgent=step is not None)
        del rendered  # so that its views are freed once they are encoded
        result = await reading
        return result if seen is None or result.parsed is None else await self._placed(result, seen)

    async def _placed(self, result: PageResult, finding: Future[SeenWords]) -> PageResult:
        """Returns a page's result with the places of its words, without them where nobody can look for words.

        It is doubtful where it is blank though print was seen.
        """
        try:
            seen = await asyncio.wrap_future(finding)
        except WorkersError as error:
            LOGGER.warning("words stay without boxes: %s", error)
            return result
        placed = await asyncio.wrap_future(self._workers.words(result, seen))
        if isinstance(placed, PageError):
            return failed_result(result.page, placed, result.timings)
        return doubted(placed, NONE_READ) if seen.shows_print and placed.status == "blank" else placed

    def _seen(self, rendered: RenderedPage) -> Future[SeenWords] | None:
        """Begins to find the page's words while a model reads it; returns None where none are looked for."""
        if rendered.seen:
            known: Future[SeenWords] = Future()
            known.set_result(SeenWords(words=rendered.seen, shows_print=True))
            return known
        return None if rendered.ink is None or self._words is None else self._words.words(rendered)

    def _compared(self, ready: RenderedPage, attempts: list[PageResult]) -> list[PageResult]:
        """Returns the attempts, each with its text layer agreement where that is asked for and the layer is trusted."""
        layer = layer_of(ready)
        if self._config.text_layer != "compare" or layer is None or not layer.is_trustworthy:
            return attempts
        return [
            attempt
            if attempt.parsed is None or attempt.source == "layer"
            else replace(attempt, layer_agreement=agreement(attempt.parsed.text, layer.text))
            for attempt in attempts
        ]


def _after(finding: Future[SeenWords], dropped: Callable[[int], None]) -> Callable[[int], None]:
    """Returns what passes on how many bytes are released once the words are found.

    Until then a page's pixels stay in memory, which they share with its views. So where finding words is slower than a
    GPU, pages do not pile up.
    """

    def later(num_bytes: int) -> None:
        def found(ended: asyncio.Future[SeenWords]) -> None:
            if not ended.cancelled():
                ended.exception()  # whoever waits for the words handles it
                dropped(num_bytes)

        asyncio.wrap_future(finding).add_done_callback(found)

    return later
