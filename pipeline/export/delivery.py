"""Hands on what a run has read: searchable PDFs as documents end, and their files out of a watched folder."""

import logging
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from functools import partial

from pipeline.export.searchable_export import all_formats
from pipeline.ingest.walk import canonical
from storage.database import Row, held_for_upkeep, open_for_reading, rows, transaction
from storage.errors import DatabaseNotFoundError, NotExportedError, StorageError
from storage.export.document_names import LONGEST_BYTES, parted, stems
from storage.export.export_files import replace_file
from storage.export.rows import export_rows
from storage.export.selection import Selection
from storage.strings.text import real_path, stored_path
from storage.strings.urls import is_url
from storage.types import DONE_STATUSES

LOGGER = logging.getLogger("ocrbatch")
_EVERY_S = 2.0
_DONE = ", ".join(f"'{status}'" for status in DONE_STATUSES)
# The files of the latest run without a page that is still to be read. last: the newest of their attempts, which changes
# when a page is read better. is_done: whether all pages were read to their end. is_new: whether one was by this run.
_ENDED = f"""
    SELECT f.path, d.sha256, max(a.id) AS last, min(p.status IN ({_DONE})) AS is_done,
        max(a.run_id = f.last_run_id) AS is_new
    FROM files f JOIN documents d ON d.id = f.document_id JOIN pages p ON p.document_id = d.id AND p.asked
    LEFT JOIN attempts a ON a.id = p.current_attempt_id
    WHERE f.last_run_id = (SELECT max(id) FROM runs) AND f.status = 'ok'
    GROUP BY f.id HAVING min(p.status <> 'pending') ORDER BY f.path"""


class Delivery:
    """Delivers a run's documents: PDFs in a thread while it goes on, the rest when the block ends without an error.

    roots: the folders and files that the run, or the watch, was given; what stands below them stands at the same place
    below the folders here. pdf_to: gets a searchable PDF of each document whose pages have all ended; None: none is
    made. move_to: gets the files of documents whose pages were all read to their end, once the run is over, and the
    database follows them; None: files stay. A name that is taken already gets the content's hash.
    """

    def __init__(self, database: str, roots: Sequence[str], pdf_to: str | None, move_to: str | None) -> None:
        self._database, self._pdf_to, self._move_to = database, pdf_to, move_to
        self._roots = [canonical(root) for root in roots if not is_url(root)]
        self._over = threading.Event()
        self._written: dict[str, tuple[int, str]] = {}
        self._thread = threading.Thread(target=self._watch, name="delivery")

    def __enter__(self) -> "Delivery":
        if self._pdf_to is not None:
            self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._over.set()
        if self._pdf_to is not None:
            self._thread.join()
            self._try(self._write)
        if self._move_to is not None and raised[1] is None:
            self._try(self._move)

    def _watch(self) -> None:
        while not self._over.wait(_EVERY_S):
            self._try(self._write)

    def _try(self, task: Callable[[], None]) -> None:
        try:
            task()
        except DatabaseNotFoundError:  # the run has not made it
            pass
        except StorageError as error:
            LOGGER.error("%s", error)

    def _write(self) -> None:
        """Writes the PDFs of what has ended, or was read better, since the last time."""
        assert self._pdf_to is not None
        with open_for_reading(self._database) as db, all_formats() as formats:
            form = formats["pdf"]
            for ended in rows(db, _ENDED):
                last, target = self._written.get(ended["path"], (0, ""))
                if last == ended["last"]:
                    continue
                target = target or self._place(self._pdf_to, ended, form.ending)
                self._written[ended["path"]] = (ended["last"], target)
                if not ended["is_new"] and os.path.exists(target):
                    continue
                pages = export_rows(db, Selection(path=ended["path"]), with_words=True)
                try:
                    replace_file(target, form, partial(form.write, pages))
                except (NotExportedError, OSError) as error:
                    self._written[ended["path"]] = (ended["last"], "")
                    LOGGER.error("no searchable PDF: %s", error)

    def _move(self) -> None:
        """Moves the files of documents that were read to their end; of those that were to be PDFs, that are."""
        assert self._move_to is not None
        with held_for_upkeep(self._database) as db:
            for ended in rows(db, _ENDED):
                is_ready = self._pdf_to is None or self._written.get(ended["path"], (0, ""))[1]
                if not ended["is_done"] or not is_ready or is_url(ended["path"]):
                    continue
                target = self._place(self._move_to, ended)
                try:
                    shutil.move(real_path(ended["path"]), target)
                except OSError as error:
                    LOGGER.error("%s: cannot be moved to %s: %s", ended["path"], target, error.strerror)
                    continue
                with transaction(db, self._database) as conn:
                    moved = stored_path(canonical(target))
                    conn.execute("DELETE FROM files WHERE path = ?", (moved,))
                    conn.execute("UPDATE files SET path = ? WHERE path = ?", (moved, ended["path"]))

    def _place(self, folder: str, ended: Row, ending: str = "") -> str:
        """Returns where to put a document, its folder made. ending: added where the name does not have it."""
        path = real_path(ended["path"])
        root = next(
            (root for root in self._roots if path.startswith(f"{root}{os.sep}")), os.path.dirname(path)
        )
        name = os.path.relpath(path, root)
        stem, last = parted(name, ending or os.path.splitext(name)[1])
        names = stems(
            os.path.join(folder, stem), [ended["sha256"][:8]], LONGEST_BYTES - len(os.fsencode(last))
        )
        plain, *marked = (f"{name}{last}" for name in names)
        taken = {place for _, place in self._written.values()}
        is_taken = plain in taken or (os.path.lexists(plain) and (ended["is_new"] or not ending))
        target = marked[0] if marked and is_taken else plain
        os.makedirs(os.path.dirname(target), exist_ok=True)
        return target
