"""Marks pages that are about to be read, written along with the results and without waiting for them."""

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
        """Opens the connection. Raises: DatabaseAccessError."""
        self._path = os.fspath(path)
        self._db = open_beside(self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection. Closing twice is fine."""
        self._db.close()

    def begin_pages(self, run_id: int, pages: Sequence[tuple[str, int]], *, alone: bool = False) -> None:
        """Marks pages (sha256, page_index) as being read, in one transaction; see storage.recovery.in_flight.

        alone: no other page is in the model. The marks outlive this process from here on, which is their purpose. A
        power cut may lose the last of them: with synchronous=NORMAL a commit does not wait for the disk, except the
        first into a log that starts again.
        """
        with transaction(self._db, self._path) as conn:
            in_flight.mark(conn, run_id, pages, alone=alone)

    def end_run(self, run_id: int) -> None:
        """Removes the marks of a run that is ending in order: if it dies doing so, no page is the cause."""
        with transaction(self._db, self._path) as conn:
            in_flight.end_run(conn, run_id)
