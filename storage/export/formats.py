"""Every export format by name, and where an export goes."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterable
from typing import TextIO

from sqlite_utils import Database

from storage.errors import ExportPathError
from storage.export import jsonl, markdown, text
from storage.export.rows import PageRow, export_rows
from storage.export.selection import Selection
from storage.queries import database_path

FORMATS: dict[str, Callable[[Iterable[PageRow], TextIO], int]] = {
    "jsonl": jsonl.write,
    "md": markdown.write,
    "txt": text.write,
}


def export(db: Database, format_name: str, stream: TextIO, selection: Selection | None = None) -> int:
    """Writes the selected pages, None for all, to a stream, page by page; returns the number of pages."""
    return FORMATS[format_name](export_rows(db, selection), stream)


def export_to_file(db: Database, format_name: str, path: str, selection: Selection | None = None) -> int:
    """Writes the selected pages, None for all, to a UTF-8 file that appears, whole, at the end; returns their number.

    Raises: ExportPathError where the file cannot be written, or is the database itself.
    """
    target = os.path.realpath(path)
    _refuse_database(target, path, database_path(db))
    try:
        # A pipe or device is written to, not replaced.
        if os.path.exists(target) and not os.path.isfile(target):
            with open(target, "w", encoding="utf-8") as stream:
                return export(db, format_name, stream, selection)
        return _replace(db, format_name, target, selection)
    except OSError as error:
        raise ExportPathError(
            f"{path}: cannot write the export: {error.strerror}; choose another -o"
        ) from error


def _replace(db: Database, format_name: str, target: str, selection: Selection | None) -> int:
    folder, name = os.path.split(target)
    partial = os.path.join(folder, f".{name}.{os.getpid()}.part")
    try:
        with open(partial, "w", encoding="utf-8", newline="\n") as stream:
            number = export(db, format_name, stream, selection)
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
