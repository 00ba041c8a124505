"""Measures how a manifest of many rows is taken in: memory, time to its first file, and rows a second.

python -m tests.benchmarks.scale.manifest --rows 10000000

No file is opened. Rows are URLs, which are handed out as they are; with --planned each file is also planned, as a
document of its own whose pages the database would not know, which is what a run keeps of the files it has planned.
Each format is measured in a process of its own. Temporary files lie in the temporary folder (TMPDIR).
"""

import argparse
import asyncio
import contextlib
import csv
import itertools
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.config.schema import Config
from pipeline.documents.settings import IngestSettings
from pipeline.ingest.selection import InputCounts, Selection
from pipeline.ingest.walk import walk
from storage.types import PagePlan
from tests.benchmarks.scale.made_pages import Corpus, path_of

_ROWS_A_GROUP = 100_000
FORMATS = ("parquet", "csv", "jsonl", "txt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How a manifest was taken in.

    memory_bytes: the peak beyond what the process had before. disk_bytes: the peak of temporary files without a name.
    """

    num_files: int
    first_s: float
    all_s: float
    cpu_s: float
    memory_bytes: int
    disk_bytes: int


def main() -> None:
    """Makes manifests and prints a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS[:3])
    parser.add_argument("--planned", action="store_true")
    chosen = parser.parse_args()
    for ending in chosen.formats:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"list.{ending}")
            _WRITERS[ending](path, (f"s3://archive{path_of(row)}" for row in range(chosen.rows)))
            found = in_own_process(str(path), chosen.planned)
            size_mb = path.stat().st_size / 1e6
        print(
            f"{ending:8} {size_mb:6.0f} MB  {found.num_files:>9} files  first {1e3 * found.first_s:5.0f} ms  "
            f"all {found.all_s:6.1f} s  {found.num_files / found.all_s:8.0f} rows/s  {found.cpu_s:6.1f} CPU s  "
            f"memory {found.memory_bytes / 1e6:6.0f} MB  disk {found.disk_bytes / 1e6:6.0f} MB",
            flush=True,
        )


def in_own_process(manifest: str, is_planned: bool) -> Figures:
    """Returns `measured` of a process that has done nothing else."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measured, (manifest, is_planned))


def measured(manifest: str, is_planned: bool) -> Figures:
    """Takes in a manifest. Its memory is right only in a process that had no higher peak before."""
    before, cpu = _peak_bytes(), time.process_time()
    began = time.monotonic()
    found = walk([], IngestSettings(manifest=manifest))
    first, first_s = next(found), time.monotonic() - began
    disk = _Disk()
    paths = disk.watching(_paths(first.path, found))
    num_files = asyncio.run(_plan(paths)) if is_planned else sum(1 for _ in paths)
    return Figures(
        num_files=num_files,
        first_s=first_s,
        all_s=time.monotonic() - began,
        cpu_s=time.process_time() - cpu,
        memory_bytes=_peak_bytes() - before,
        disk_bytes=disk.peak_bytes,
    )


def _paths(first: str, found: Iterator[Any]) -> Iterator[str]:
    yield first
    yield from (one.path for one in found)


async def _plan(paths: Iterator[str]) -> int:
    """Returns how many documents have pages to read."""
    corpus = Corpus(num_pages=1 << 40)

    async def ask(_sha256: str, pages: Any, *_: object, **__: object) -> PagePlan:
        return PagePlan(to_read=tuple(pages), done=(), given_up=())

    selection = Selection(Config(), "s", InputCounts(), ask)
    num_documents = 0
    for path in paths:
        num_documents += bool((await selection.plan(corpus.document(path))).to_read)
    return num_documents


def _peak_bytes() -> int:
    # Not getrusage: its peak is inherited from the process that started this one.
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM:"))


class _Disk:
    """Looks at the size of temporary files now and then."""

    def __init__(self) -> None:
        self.peak_bytes = 0

    def watching(self, paths: Iterator[str]) -> Iterator[str]:
        """Yields the paths."""
        for number, path in enumerate(paths):
            if number % _ROWS_A_GROUP == _ROWS_A_GROUP - 1:
                self.peak_bytes = max(self.peak_bytes, _disk_bytes())
            yield path


def _disk_bytes() -> int:
    """Returns the size of the open files that have no name any more, as SQLite's temporary ones."""
    sizes = []
    for entry in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{entry}").endswith(" (deleted)"):
                sizes.append(os.stat(f"/proc/self/fd/{entry}").st_size)
    return sum(sizes)


def _parquet(path: Path, urls: Iterator[str]) -> None:
    import pyarrow
    from pyarrow import parquet

    with parquet.ParquetWriter(path, pyarrow.schema([("path", pyarrow.string())])) as out:
        while group := list(itertools.islice(urls, _ROWS_A_GROUP)):
            out.write_table(pyarrow.table({"path": group}))


def _csv(path: Path, urls: Iterator[str]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(itertools.chain([("path",)], ((url,) for url in urls)))


def _jsonl(path: Path, urls: Iterator[str]) -> None:
    with path.open("w") as file:
        file.writelines(json.dumps({"path": url}) + "\n" for url in urls)


def _txt(path: Path, urls: Iterator[str]) -> None:
    with path.open("w") as file:
        file.writelines(f"{url}\n" for url in urls)


_WRITERS: dict[str, Callable[[Path, Iterator[str]], None]] = {
    "parquet": _parquet,
    "csv": _csv,
    "jsonl": _jsonl,
    "txt": _txt,
}

if __name__ == "__main__":
    main()
