"""Checks reading: reads the built-in page with the configured model, from the file to the row."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from rapidfuzz.distance import Levenshtein

from pipeline.config.schema import Config
from pipeline.doctor.checks.model_files import local_directory
from pipeline.doctor.finding import Finding, fail, ok
from pipeline.doctor.sample_page import TEXT, sample_pdf

_MOST_ERRORS = 0.1


def check(config: Config) -> Iterator[Finding]:
    """Runs the whole pipeline in a temporary folder. Takes seconds, with a large model a minute."""
    if local_directory(config.model) is None:
        yield fail("reading", f"{config.model} is not on this machine", "download it first")
        return
    from pipeline.reports.progress import Silent
    from pipeline.run.runner import run
    from pipeline.stop import Stop

    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ocrbatch-doctor-") as folder:
        path = Path(folder, "sample.pdf")
        path.write_bytes(sample_pdf())
        database = os.path.join(folder, "sample.db")
        summary = run(_alone(config, str(path), database), Silent(), Stop())
        seconds = time.monotonic() - start
        status, text, error = _result(database)
    if error is not None:
        yield fail("reading", f"the sample page is {status}: {error}", "see the other lines; -v says more")
        return
    read, written = " ".join(text.split()), " ".join(TEXT.split())
    found = f"in {seconds:.1f} s, loading the model {summary.load_s:.1f} s of it: {read!r}"
    errors = Levenshtein.distance(written, read) / len(written)
    if errors <= _MOST_ERRORS:
        yield ok("reading", f"{errors:.0%} of the characters wrong, {found}")
    else:
        remedy = "try another device or dtype, or fetch the model's files again"
        yield fail("reading", f"{errors:.0%} of the characters wrong, {status}, {found}", remedy)


def _alone(config: Config, path: str, database: str) -> Config:
    """Returns the configuration changed to read only the sample and to write nothing elsewhere."""
    ingest = type(config.ingest)(paths=[path])
    store = config.store.model_copy(update={"database": database})
    limits = type(config.run)(inflight_mb=config.run.inflight_mb)
    changes = {"ingest": ingest, "store": store, "run": limits, "text_layer": "ignore", "words": "off"}
    return config.model_copy(update=changes)


def _result(database: str) -> tuple[str, str, str | None]:
    """Returns status, text and error of the only page."""
    from storage.database import open_for_reading
    from storage.export.rows import export_rows

    with closing(open_for_reading(database)) as db:
        row = next(export_rows(db))
    error = row["error"]
    return row["status"], row["text"] or "", None if error is None else error["message"]
