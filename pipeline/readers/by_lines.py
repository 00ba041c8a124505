"""The line reader as a run's reader: every page in a process, which is all that it can take with it."""

import asyncio
from collections.abc import Callable

from pipeline.config.retry_steps import Step
from pipeline.device.line_readers import LineReaders
from pipeline.readers.reader import Reader
from pipeline.types import PageResult, Phase, RenderedPage


class LineByLine(Reader[RenderedPage]):
    """Reads pages line by line. lines: the processes that do."""

    loading: Phase = "loading the line reader"
    sees_print = True

    def __init__(self, lines: LineReaders) -> None:
        self._lines = lines

    @property
    def is_loading(self) -> bool:
        """Tells whether the processes were started and have not read any page yet."""
        return self._lines.is_loading

    @property
    def is_ready(self) -> bool:
        """Tells whether they have read a page."""
        return self._lines.is_ready

    def start(self) -> None:
        """Begins to start the processes; the first page reports what goes wrong."""
        self._lines.start()

    async def read(
        self, page: RenderedPage, dropped: Callable[[int], None] | None = None, step: Step | None = None
    ) -> PageResult:
        """Returns a page's result. Its pixels stay in memory until it is read, and no step changes how it is read."""
        return await asyncio.wrap_future(self._lines.read(page))
