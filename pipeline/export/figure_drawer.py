"""Draws the figures of pages for an export, in a worker process: their files are not trusted."""

from collections.abc import Sequence
from contextlib import ExitStack

from pipeline.documents.page_picture import UNSEEN, Box, FigurePlaces
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.types import Page
from storage.export.rows import PageRow
from storage.strings.text import real_path
from storage.types import PageError

_CHANGED = "has changed since it was read: run again, then export"
_FORMER = "what it held before is there no more"
_UNSIZED = "the size of the page as it was read is not known"


class FigureDrawer(ExitStack):
    """Draws figures; a context manager, whose process starts with the first figure and ends with the block."""

    def __init__(self) -> None:
        super().__init__()
        self._pool: WorkerPool | None = None
        # The last file that is not what was read, so that it is not hashed again for each of its pages.
        self._other: tuple[str, str] | None = None

    def __call__(self, row: PageRow, boxes: Sequence[Box]) -> list[bytes] | str:
        """Returns a JPEG file for each box of a page (storage.export.figures.Draw), or why there are none.

        Only what was read is drawn: the file is hashed. Raises: WorkersError.
        """
        if row["superseded"]:
            return _FORMER
        if not row["width_px"] or not row["height_px"]:
            return _UNSIZED
        if self._other == (row["path"], row["sha256"]):
            return _CHANGED
        path, index = real_path(row["path"]), row["page"] - 1
        page = Page(path=path, sha256=row["sha256"], kind="pdf", page_index=index, stamp=UNSEEN)
        turn = row["rotation_deg"] or 0
        places = FigurePlaces(
            boxes=boxes, width_px=row["width_px"], height_px=row["height_px"], rotation_deg=turn
        )
        self._pool = self._pool or self.enter_context(WorkerPool(max_workers=1))
        found = self._pool.figures(page, places).result()
        if not isinstance(found, PageError):
            return found
        if found.category == "changed":
            self._other = row["path"], row["sha256"]
            return _CHANGED
        return found.message
