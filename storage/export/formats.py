"""The export formats by name, and the files that an export is written to."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TextIO

from sqlite_utils import Database

from storage.database import explained
from storage.errors import ExportPathError
from storage.export import jsonl, markdown, plain_text
from storage.export.rows import PageRow, export_rows
from storage.export.selection import Selection
from storage.queries.statistics import database_path

FORMATS: dict[str, Callable[[Iterable[PageRow], TextIO], int]] = {
    "jsonl": jsonl.write,
    "md": markdown.write,
    "txt": plain_text.write,
}
# Those that say where words stand.
WITH_WORDS = {"jsonl"}


def export(db: Database, format_name: str, stream: TextIO, selection: Selection | None = None) -> int:
    """Writes the selected pages (None: all) to a stream, page by page; returns the number of pages."""
    return FORMATS[format_name](export_rows(db, selection, with_words=format_name in WITH_WORDS), stream)


def export_to_file(db: Database, format_name: str, path: str, selection: Selection | None = None) -> int:
    """Writes the selected pages (None: all) to a UTF-8 file that appears, whole, at the end; returns their number.

    Raises: ExportPathError where the file cannot be written, or is the database itself.
    """
    target = os.path.realpath(path)
    _refuse_database(target, path, database_path(db))
    try:
        # A pipe or device is written to, not replaced.
        if os.path.exists(target) and not os.path.isfile(target):
            with open(target, "w", encoding="utf-8") as stream:
                return export(db, format_name, stream, selection)
        return _replace(target, lambda stream: export(db, format_name, stream, selection))
    except OSError as error:
        raise _unwritable(path, error) from error


def export_to(db: Database, format_name: str, path: str, selection: Selection | None = None) -> int:
    """Writes the selected pages to a file or, where path is a folder or ends in a slash, to one file per document.

    A document's file keeps its name, with the format's ending added (report.pdf.md); folders below the one that all
    listed files share are created as well. Returns the number of pages. Raises: ExportPathError.
    """
    if not path.endswith(os.sep) and not os.path.isdir(path):
        return export_to_file(db, format_name, path, selection)
    shared, number = _shared_folder(db), 0
    for source, pages in groupby(
        export_rows(db, selection, with_words=format_name in WITH_WORDS), key=itemgetter("path")
    ):
        target = os.path.join(path, os.path.relpath(os.path.abspath(source), shared) + f".{format_name}")
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            _refuse_database(os.path.realpath(target), target, database_path(db))
            number += _replace(target, partial(FORMATS[format_name], pages))
        except OSError as error:
            raise _unwritable(target, error) from error
    return number


def _shared_folder(db: Database) -> str:
    """Returns the deepest folder above all listed files."""
    with explained(database_path(db)):
        rows = db.conn.execute("SELECT path FROM files UNION SELECT path FROM superseded").fetchall()
    return os.path.commonpath([os.path.dirname(os.path.abspath(path)) for (path,) in rows] or [os.sep])


def _unwritable(path: str, error: OSError) -> ExportPathError:
    return ExportPathError(f"{path}: cannot write the export: {error.strerror}; choose another -o")


def _replace(target: str, write: Callable[[TextIO], int]) -> int:
    folder, name = os.path.split(target)
    partial = os.path.join(folder, f".{name}.{os.getpid()}.part")
    try:
        with open(partial, "w", encoding="utf-8", newline="\n") as stream:
            number = write(stream)
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(target, partial)
        os.replace(partial, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise
    return number


def _refuse_database(target: str, path: str, database: str) -> None:
    own = {os.path.realpath(database) + suffix for suffix in ("", "-wal", "-shm", "-journal", ".lock")}
    if target in own or (os.path.exists(target) and os.path.samefile(target, database)):
        raise ExportPathError(f"{path}: is the database itself; choose another -o")
