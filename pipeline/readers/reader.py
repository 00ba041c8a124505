"""The seam between a run and what reads its pages."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from pipeline.config.retry_steps import Step
from pipeline.device.line_readers import LineReaders
from pipeline.device.threads.page_reader import PageReader
from pipeline.types import Page, PageResult, Phase, ReadyPage

Prepared = TypeVar("Prepared", bound=ReadyPage)


class Reader(ABC, Generic[Prepared]):
    """Reads pages that workers have prepared: rendered, or taken from their text layers.

    Belongs to one run; use it from the event loop's thread only. loading: what a run is said to do until the reader is
    ready. marks_pages: whether a page may end the whole run, so that it is marked before the reader gets it.
    sees_print: whether a page that the reader calls blank shows no print either. source: what has to be loaded first.
    """

    source: LineReaders | PageReader | None = None
    loading: Phase = "loading the model"
    marks_pages: bool = False
    sees_print: bool = False

    @property
    def is_loading(self) -> bool:
        """Tells whether the reader was started and does not take pages yet."""
        return self.source is not None and self.source.is_loading

    @property
    def is_ready(self) -> bool:
        """Tells whether the reader takes pages."""
        return self.source is None or self.source.is_ready

    def start(self) -> None:
        """Begins to load what the reader works with. A run that reads nothing never calls it."""
        if self.source is not None:
            self.source.start()

    async def ready(self, *, alone: bool = False) -> None:
        """Starts the reader if need be, and waits until it takes pages. alone: no other is read at the same time."""
        self.start()

    def expect(self, pages: Sequence[Page]) -> None:
        """Notes neighbouring pages of a document: each of them is going to be read, or is left out."""

    def leave_out(self, page: Page) -> None:
        """Notes that no reading of a page is to be waited for; does nothing for one that is being read."""

    @abstractmethod
    async def read(
        self, page: Prepared, dropped: Callable[[int], None] | None = None, step: Step | None = None
    ) -> PageResult:
        """Reads a page and returns its result; a failure is one too.

        dropped: called with the number of bytes of views that are released before the page is done; the caller must
        not hold them either. step: the retry step to read it with, None for the first reading.
        Raises: WorkersError where no process can be started.
        """
