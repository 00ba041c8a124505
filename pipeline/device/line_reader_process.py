"""Runs inside the processes that read pages line by line."""

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.ingest.workers import tasks
from pipeline.ingest.workers.shared_memory import Shared
from pipeline.types import FontSample, PageResult, RenderedPage, SeenWords

if TYPE_CHECKING:
    from ocr.line_reader.reading import LineReader

_FOLDER: list[Path] = []


def start(folder: str, memory_bytes: int | None, niceness: int = 0) -> None:
    """Prepares the process for pages; it ends on SIGTERM and with its parent. folder: with the reader's files.

    memory_bytes: what it may allocate from here on, None for no limit. niceness: how far others go first.
    """
    tasks.start(None, "ocrb-read")  # first of all, so that the process never outlives its parent
    os.nice(niceness)
    from safetensors import safe_open

    from pipeline.ingest.workers.limits import limit_process

    for name in ("finder", "reader"):
        safe_open(
            Path(folder) / f"{name}.safetensors", "np"
        )  # missing or cut off: told now, and not of each page
    _FOLDER[:] = [Path(folder)]
    limit_process(memory_bytes)


def read_task(shared: Shared) -> PageResult:
    """Returns the page's result. shared: a RenderedPage."""
    from pipeline.stages.read_lines import read_lines

    rendered: RenderedPage = shared.open()
    return read_lines(rendered, _reader())


def samples_task(shared: Shared) -> list[str]:
    """Returns what is read in samples of typefaces. shared: a tuple of FontSample."""
    from pipeline.stages.read_lines import read_samples

    samples: tuple[FontSample, ...] = shared.open()
    return read_samples(samples, _reader())


def words_task(shared: Shared) -> SeenWords:
    """Returns the words seen on the page. shared: a RenderedPage with ink."""
    from pipeline.stages.read_lines import find_words

    rendered: RenderedPage = shared.open()
    return find_words(rendered, _reader())


@functools.cache
def _reader() -> "LineReader":
    """Returns the reader, loaded with the first page: a process that gets none does without its memory."""
    from ocr.line_reader.reading import LineReader

    return LineReader.load(_FOLDER[0])
