"""Writes pages as Parquet files of bounded size, in a folder or a store, and adds what is new when it is run again.

What a shard holds is in its own metadata, so that nothing but the shards themselves says what was exported.
"""

import re
import tempfile
from collections.abc import Iterator
from itertools import chain
from typing import IO

from sqlite_utils import Database

from pipeline.errors import ConfigError
from pipeline.ingest.objects.stores import Store, reason_of
from storage.errors import ExportPathError, MissingExtraError
from storage.export import parquet
from storage.export.export_files import Written
from storage.export.rows import PageRow, new_pages, stored_at
from storage.strings.urls import is_url

_NAME = re.compile(r"pages-(\d{6,})\.parquet")
_THROUGH, _STORED = "ocrbatch.through", "ocrbatch.stored_at"


def export_shards(db: Database, folder: str, shard_pages: int) -> Written:
    """Writes the pages that no shard in a folder holds, in the order in which they were stored, a shard at a time.

    folder: a path or URL. shard_pages: rows of a shard; those of one page, of files with equal content, stay together.
    A page that was read again since comes again: its row in the last shard counts.
    Raises: ExportPathError where the folder cannot be written, or has shards of another database; MissingExtraError.
    """
    try:
        store = Store(folder) if is_url(folder) else Store.local(folder)
    except ConfigError as error:
        raise ExportPathError(str(error)) from error
    written = Written(left_out=[])
    try:
        number, after = _last(db, store, folder)
        pages = new_pages(db, after)
        for first in pages:
            number += 1
            with tempfile.TemporaryFile() as file:
                if num_rows := _write(db, chain([first], pages), shard_pages, file):
                    file.seek(0)
                    store.put(file, f"pages-{number:06}.parquet")
                    written.files += 1
                    written.pages += num_rows
    except (ConfigError, OSError) as error:
        raise ExportPathError(f"{folder}: cannot write the export: {reason_of(error)}") from error
    return written


def _write(db: Database, pages: Iterator[tuple[int, list[PageRow]]], most: int, file: IO[bytes]) -> int:
    """Writes a shard of the first pages of those that are left; returns how many rows it has."""
    through = number = 0

    def rows() -> Iterator[PageRow]:
        nonlocal through, number
        for attempt, found in pages:
            through = attempt
            number += len(found)
            yield from found
            if number >= most:
                return

    parquet.write(rows(), file, lambda: {_THROUGH: str(through), _STORED: stored_at(db, through) or ""})
    return number


def _last(db: Database, store: Store, folder: str) -> tuple[int, int]:
    """Returns the number of the last shard and the last attempt in it; 0, 0 where there is none."""
    try:
        names = [name for name, is_folder in store.entries() if not is_folder]
    except FileNotFoundError:
        return 0, 0
    numbers = [int(match[1]) for name in names if (match := _NAME.fullmatch(name))]
    if not numbers:
        return 0, 0
    try:
        from pyarrow import parquet as reader
    except ImportError as error:
        raise MissingExtraError("--format parquet needs pyarrow: pip install pyarrow") from error
    name = f"pages-{max(numbers):06}.parquet"
    with store.fs.open(f"{store.path}/{name}", "rb") as file:
        notes: dict[bytes, bytes] = reader.ParquetFile(file).metadata.metadata or {}
    through = int(notes.get(_THROUGH.encode(), b"0"))
    if stored_at(db, through) != notes.get(_STORED.encode(), b"").decode():
        raise ExportPathError(f"{folder}: {name} is not of this database as it is now; name another folder")
    return max(numbers), through
