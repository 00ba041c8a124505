"""Writes pages as Parquet files of bounded size, in a folder or a store, and adds what is new when it is run again.

What a shard holds is in its own metadata, so that nothing but the shards themselves says what was exported.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import IO, Any

from sqlite_utils import Database

from pipeline.errors import ConfigError
from pipeline.ingest.objects.stores import Store, reason_of
from storage.errors import ExportPathError, MissingExtraError
from storage.export import parquet
from storage.export.export_files import Written
from storage.export.new_pages import new_pages, stored_at
from storage.export.rows import PageRow
from storage.strings.urls import is_url

_NAME = re.compile(r"pages-(\d{6,})\.parquet")
_THROUGH, _STORED = "ocrbatch.through", "ocrbatch.stored_at"


def export_shards(db: Database, folder: str, shard_pages: int) -> Written:
    """Writes the pages that no shard in a folder holds, in the order in which they were stored, a shard at a time.

    folder: a path or URL. shard_pages: rows of a shard; those of one page, of files with equal content, stay together.
    A page that was read again since comes again: its row in the last shard counts.
    Raises: ExportPathError where the folder cannot be written, or has shards of another database; MissingExtraError.
    """
    target, written = _Target(folder), Written(left_out=[])
    try:
        number, after = target.last(db)
        pages = new_pages(db, after)
        while (first := next(pages, None)) is not None:
            number += 1
            shard = _Shard(chain([first], pages), shard_pages)
            with tempfile.TemporaryFile() as file:
                num_rows = parquet.write(shard.rows(), file, lambda its=shard: _notes(db, its.through))  # type: ignore[misc]
                if num_rows:
                    target.put(file, f"pages-{number:06}.parquet")
                    written.files += 1
            written.pages += num_rows
    except (ConfigError, OSError) as error:
        raise ExportPathError(f"{folder}: cannot write the export: {reason_of(error)}") from error
    return written


class _Shard:
    """The first pages of those that are left. through: the last attempt that it took."""

    def __init__(self, pages: Iterator[tuple[int, list[PageRow]]], most: int) -> None:
        self._pages, self._most = pages, most
        self.through = 0

    def rows(self) -> Iterable[PageRow]:
        number = 0
        for attempt, rows in self._pages:
            self.through = attempt
            yield from rows
            number += len(rows)
            if number >= self._most:
                return


def _notes(db: Database, through: int) -> dict[str, str]:
    return {_THROUGH: str(through), _STORED: stored_at(db, through) or ""}


class _Target:
    """The folder, local or in a store. Raises: ConfigError, OSError."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        try:
            self._store = Store(folder) if is_url(folder) else Store.local(folder)
        except ConfigError as error:
            raise ExportPathError(str(error)) from error

    def last(self, db: Database) -> tuple[int, int]:
        """Returns the number of the last shard and the last attempt in it; 0, 0 where there is none."""
        try:
            names = [name for name, is_folder in self._store.entries() if not is_folder]
        except FileNotFoundError:
            return 0, 0
        numbers = [int(match[1]) for name in names if (match := _NAME.fullmatch(name))]
        if not numbers:
            return 0, 0
        name = f"pages-{max(numbers):06}.parquet"
        notes = self._notes(name)
        through = int(notes.get(_THROUGH.encode(), b"0"))
        if stored_at(db, through) != notes.get(_STORED.encode(), b"").decode():
            raise ExportPathError(
                f"{self._folder}: {name} is not of this database as it is now; name another folder"
            )
        return max(numbers), through

    def put(self, file: IO[bytes], name: str) -> None:
        """Writes a shard, which appears whole."""
        file.seek(0)
        self._store.put(file, name)

    def _notes(self, name: str) -> dict[bytes, bytes]:
        try:
            from pyarrow import parquet as reader
        except ImportError as error:
            raise MissingExtraError("--format parquet needs pyarrow: pip install pyarrow") from error
        with self._store.fs.open(f"{self._store.path}/{name}", "rb") as file:
            found: dict[bytes, bytes] | Any = reader.ParquetFile(file).metadata.metadata
            return dict(found or {})
