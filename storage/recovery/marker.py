"""Marks of pages that are about to be read, written beside the results and without waiting for them."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from storage.database import open_beside, transaction
from storage.recovery import in_flight


class Marker:
    """Marks pages through a connection of its own: the model waits for each mark, not for all results.

    For a database that a Store has open, which is closed after this; for use in the thread that opened it.
    """

    def __init__(self, path: str | Path) -> None:
        """Raises: DatabaseAccessError."""
        self._path = os.fspath(path)
        self._db = open_beside(self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closing twice is fine."""
        self._db.close()

    def begin_pages(self, run_id: int, pages: Sequence[tuple[str, int]], *, alone: bool = False) -> None:
        """Marks pages (sha256, page_index) as being read, in one transaction; storage.recovery.in_flight says what for.

        alone: the model has no other meanwhile. The marks outlive this process from here on, which is what they are
        for. A power cut may undo the last of them: with synchronous=NORMAL a commit waits for no disk, but for the
        first into a log that is begun anew.
        """
        with transaction(self._db, self._path) as conn:
            in_flight.mark(conn, run_id, pages, alone=alone)

    def end_run(self, run_id: int) -> None:
        """Forgets the marks of a run that is being ended in order: if it dies in doing so, no page is the reason."""
        with transaction(self._db, self._path) as conn:
            in_flight.end_run(conn, run_id)
