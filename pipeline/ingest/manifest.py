"""Reads a manifest: a file that names inputs, one a row, as a stream. Ten million rows take no memory.

Parquet, CSV and JSON lines have a column `path`; any other text has a path a line. Relative paths are resolved from the
manifest's folder. A manifest may itself be an object of a store.
"""

import csv
import io
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

from pipeline.errors import ConfigError
from pipeline.ingest.found import unreadable
from pipeline.ingest.objects.stores import Store, reason_of
from pipeline.types import InputFile
from storage.strings.urls import is_url, parent_of

# A path or URL, or a document that says what is wrong with its row.
Entry = str | InputFile
COLUMN = "path"
_ROWS_A_BATCH = 10_000


def entries(manifest: str) -> Iterator[Entry]:
    """Returns the absolute paths and URLs that a manifest names, in order.

    Raises: ConfigError, at once, where the manifest cannot be read or has no column `path`.
    """
    ending = manifest.rpartition(".")[2].lower()
    read = {"parquet": _parquet, "csv": _csv, "jsonl": _jsonl, "ndjson": _jsonl}.get(ending, _lines)
    folder = (
        (parent_of(manifest) or manifest) if is_url(manifest) else os.path.dirname(os.path.abspath(manifest))
    )
    rows = _explained(manifest, lambda: read(_opened(manifest)))
    # The first row is read now, so that a run over the wrong file does not begin.
    first = list(itertools.islice(rows, 1))
    return (
        _entry(row, number, manifest, folder) for number, row in enumerate(itertools.chain(first, rows), 1)
    )


def _entry(row: Any, number: int, manifest: str, folder: str) -> Entry:
    if not isinstance(row, str) or not row or "\0" in row:
        return unreadable(f"{manifest}#{number}", "broken", f"row {number} of the manifest has no path")
    if is_url(row) or os.path.isabs(row):
        return row
    return f"{folder}/{row}" if is_url(folder) else os.path.normpath(os.path.join(folder, row))


def _opened(manifest: str) -> IO[bytes]:
    if not is_url(manifest):
        return open(manifest, "rb")
    store = Store(manifest)
    file: IO[bytes] = store.fs.open(store.path, "rb")
    return file


def _explained(manifest: str, read: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Yields a manifest's rows. Raises: ConfigError."""
    try:
        yield from read()
    except ConfigError as error:
        raise ConfigError(f"{manifest}: {error}") from error
    except Exception as error:  # pyarrow's, a store's and the codecs' own
        reason = error.strerror if isinstance(error, OSError) and error.strerror else reason_of(error)
        raise ConfigError(f"{manifest}: cannot read the manifest: {reason}") from error


def _parquet(file: IO[bytes]) -> Iterator[Any]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ConfigError("a Parquet manifest needs pyarrow: pip install pyarrow") from error
    with file:
        source = parquet.ParquetFile(file)
        _require(source.schema_arrow.names)
        for batch in source.iter_batches(batch_size=_ROWS_A_BATCH, columns=[COLUMN]):
            yield from batch.column(0).to_pylist()


def _csv(file: IO[bytes]) -> Iterator[Any]:
    with io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="") as text:
        rows = csv.reader(text)
        header = next(rows, [])
        _require(header)
        place = header.index(COLUMN)
        for row in rows:
            if row:  # not an empty line
                yield row[place] if place < len(row) else None


def _jsonl(file: IO[bytes]) -> Iterator[Any]:
    for number, line in enumerate(_lines(file)):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        path = row.get(COLUMN) if isinstance(row, dict) else None
        if path is None and not number:
            raise ConfigError(f"its first line is no JSON object with the key {COLUMN}")
        yield path


def _lines(file: IO[bytes]) -> Iterator[str]:
    with io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="\n") as text:
        for line in text:
            if line := line.rstrip("\r\n"):
                yield line


def _require(columns: Iterable[str]) -> None:
    if COLUMN not in columns:
        raise ConfigError(f"has no column {COLUMN}; it has {', '.join(columns) or 'none'}")
