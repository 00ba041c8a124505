"""Reads the pages of a public benchmark that is on disk, and scores them. Imports no torch to score."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from pipeline.bench.public import olmocr_bench, omni_doc_bench
from pipeline.bench.public.olmocr_bench import FactScores
from pipeline.bench.public.omni_doc_bench import PageScores
from pipeline.errors import ConfigError
from pipeline.ingest.walk import canonical
from storage.database import open_for_reading
from storage.export.rows import export_rows
from storage.export.selection import Selection


def pages_folder(folder: Path) -> Path:
    """Returns the folder of the benchmark's pages. Raises: ConfigError for a folder without either benchmark."""
    if olmocr_bench.is_here(folder):
        return folder / olmocr_bench.PAGES
    if omni_doc_bench.annotations(folder) is not None:
        return folder / omni_doc_bench.IMAGES
    raise ConfigError(
        f"{folder}: neither olmOCR-bench (*.jsonl beside a folder pdfs) nor OmniDocBench (a *.json with layout_dets "
        "beside a folder images); name the folder that holds these"
    )


def score(folder: Path, database: str) -> FactScores | PageScores:
    """Scores the pages that a database has of a benchmark's folder.

    Raises: ConfigError for a folder or file that is not as published, StorageError for a database that cannot be read.
    """
    base = Path(canonical(str(pages_folder(folder))))
    markdown = _markdown(database, base)

    def of(file: Path, page: int) -> str | None:
        return markdown.get((os.path.normpath(base / file.relative_to(folder / base.name)), page))

    scores: Callable[..., FactScores | PageScores] = (
        olmocr_bench.scores if base.name == olmocr_bench.PAGES else omni_doc_bench.scores
    )
    return scores(folder, of)


def _markdown(database: str, base: Path) -> dict[tuple[str, int], str]:
    """Returns the markdown of all pages below a folder, or their text, by path and page number."""
    below = str(base) + os.sep
    with closing(open_for_reading(database)) as db:
        rows = export_rows(db, Selection(wants_path=lambda path: path.startswith(below)))
        return {
            (row["path"], row["page"]): row["markdown"] or row["text"] or ""
            for row in rows
            if row["status"] != "pending"
        }
