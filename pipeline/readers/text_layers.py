"""Takes pages from their text layers, with what is to be read beside those."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from pipeline.device.line_readers import LineReaders
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.outcome.doubt import doubted
from pipeline.outcome.results import embedded_result, failed_result
from pipeline.readers.font_looks import FontLooks
from pipeline.readers.joining import with_rest
from pipeline.types import EmbeddedPage, PageResult, ReadyPage
from storage.types import PageError


class TextLayers:
    """Takes pages from their text layers. For use in one event loop.

    lines: read words in doubt and pictures; None where workers leave pages with such to the page model.
    workers: render pages again.
    """

    def __init__(self, lines: LineReaders | None, workers: WorkerPool) -> None:
        self._lines, self._workers = lines, workers
        self._looks = None if lines is None else FontLooks(lines)

    async def checked(self, found: EmbeddedPage, dropped: Callable[[int], None]) -> ReadyPage | PageError:
        """Returns a page that is taken from its text layer, or the page to be read where its typefaces are wrong.

        dropped: called with the bytes of pixels that are released.
        """
        if not found.layer.in_doubt:
            return found
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

    async def read(self, found: EmbeddedPage) -> list[PageResult]:
        """Returns the attempts at a page: its layer, after the failure in whose place that stands."""
        if found.rest is None:
            embedded = embedded_result(found)
        else:
            assert self._lines is not None, "no worker makes such pages otherwise"
            embedded = with_rest(found, await asyncio.wrap_future(self._lines.read(found.rest)))
        if found.missing:
            embedded = doubted(embedded, found.missing)
        if found.instead_of is None:
            return [embedded]
        return [failed_result(found.page, found.instead_of), replace(embedded, rung="layer")]
