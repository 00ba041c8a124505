"""Decides, once for a run, which reader takes a page."""

import asyncio
from collections.abc import Callable, Mapping

from pipeline.config.retry_steps import Step
from pipeline.config.schema import Config, resolved
from pipeline.device.line_readers import LineReaders
from pipeline.device.open_models import Models
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.readers.reader import Reader
from pipeline.readers.text_layers import TextLayers
from pipeline.readers.whole_pages import WholePages
from pipeline.types import PageResult, Phase, RenderedPage


class LineByLine(Reader[RenderedPage]):
    """Reads pages line by line, each in a process, which is all that it can take with it. lines: the processes."""

    loading: Phase = "loading the line reader"
    sees_print = True

    def __init__(self, lines: LineReaders) -> None:
        self.source = self._lines = lines

    async def read(
        self, page: RenderedPage, dropped: Callable[[int], None] | None = None, step: Step | None = None
    ) -> PageResult:
        """Returns a page's result. Its pixels stay in memory until it is read, and no step changes how it is read."""
        return await asyncio.wrap_future(self._lines.read(page))


def _by_lines(models: Models, workers: WorkerPool) -> Reader[RenderedPage]:
    assert models.lines is not None, "the configured model has a line reader"
    return LineByLine(models.lines)


# Who reads what no retry step gives to a model of its own, by the configuration's `reader`.
READERS: Mapping[str, Callable[[Models, WorkerPool], Reader[RenderedPage]]] = {
    "lines": _by_lines,
    "page": lambda models, workers: WholePages(models.first, models.words, workers),
}


class ReaderPlan:
    """The readers of a run. first: takes pages that were not read yet. layers: takes those that have their text.

    models: what the configuration's readers work with. workers: render its pages.
    """

    def __init__(self, config: Config, models: Models, workers: WorkerPool) -> None:
        self._models = models
        self._others = {
            name: WholePages(model, models.words, workers) for name, model in models.others.items()
        }
        self.first = READERS[resolved(config).reader](models, workers)
        self.layers = TextLayers(models.lines, workers)

    @property
    def device(self) -> str | None:
        """Where the page model is; None before it is loaded."""
        return self._models.first.device

    def reader(self, step: Step) -> Reader[RenderedPage]:
        """Returns who takes a page at a retry step."""
        return self.first if step.model is None else self._others[step.model]
