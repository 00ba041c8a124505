"""Checks what a run does: its worker process renders a page, and the model reads it, from the file to the row."""

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rapidfuzz.distance import Levenshtein

from pipeline.config.schema import Config, ingest_settings, render_settings, tile_settings
from pipeline.doctor.examination import Finding, fail, ok
from pipeline.doctor.file_checks import local_directory
from pipeline.documents.settings import TileSettings
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.run.budget import heaviest_page_bytes
from pipeline.types import EmbeddedPage, Page, ReadyPage, RenderedPage
from storage.types import PageError

_TIMEOUT_S = 60.0
_MOST_ERRORS = 0.1
_REMEDY = "check that processes can be started here, with memory and pipes"
TEXT = (
    "The minutes of the last meeting were read and\n"
    "approved. Twelve members were present, and the\n"
    "treasurer reported a balance of 1,482.50 pounds.\n"
    "It was agreed to repair the roof of the library\n"
    "before winter, and to ask three firms for a price.\n"
    "The next meeting will be held on 14 October."
)


def sample_pdf(text: str = TEXT) -> bytes:
    """Returns a PDF of one A4 page. text: lines of printable ASCII, in Helvetica, which no file needs to hold."""
    import pymupdf

    with pymupdf.open() as document:
        document.new_page().insert_text(
            (72, 102), text.split("\n"), fontname="helv", fontsize=12, lineheight=4 / 3
        )
        return bytes(document.tobytes())


def check_worker(config: Config) -> Iterator[Finding]:
    """Probes and renders the built-in page as a run would."""
    with tempfile.TemporaryDirectory(prefix="ocrbatch-doctor-") as folder:
        path = Path(folder, "sample.pdf")
        path.write_bytes(sample_pdf())
        yield from _render(path, config)


def _render(path: Path, config: Config) -> Iterator[Finding]:
    tile = tile_settings(config) if local_directory(config.model) else TileSettings()
    page = Page(
        path=str(path), sha256=hashlib.sha256(path.read_bytes()).hexdigest(), kind="pdf", page_index=0
    )
    start = time.monotonic()
    with WorkerPool(
        max_workers=1,
        ingest=ingest_settings(config),
        render=render_settings(config.model_copy(update={"text_layer": "ignore"})),
        tile=tile,
        page_timeout_s=_TIMEOUT_S,
        probe_timeout_s=_TIMEOUT_S,
        memory_bytes=config.render.worker_memory_mb << 20,
        page_bytes=heaviest_page_bytes(tile),
    ) as workers:
        document = workers.probe(page.path).result(2 * _TIMEOUT_S)
        started_s = time.monotonic() - start
        if document.status != "ok":
            yield fail("worker", f"{document.reason}", _REMEDY)
            return
        rendered = workers.render(page).result(2 * _TIMEOUT_S)
        yield _rendered(rendered, started_s, time.monotonic() - start - started_s)
    if not isinstance(rendered, PageError | EmbeddedPage):
        yield _fonts(rendered)


def _rendered(page: ReadyPage | PageError, started_s: float, render_s: float) -> Finding:
    if isinstance(page, PageError):
        return fail("worker", page.message, _REMEDY)
    limits = (
        "memory, CPU time, open files, no file written, no core dump" if sys.platform == "linux" else "some"
    )
    return ok(
        "worker", f"started in {started_s:.1f} s, rendered a page in {render_s:.2f} s; limits: {limits}"
    )


def _fonts(page: RenderedPage) -> Finding:
    """Checks that the text was drawn: a page without its typeface would be blank, or fail as illegible."""
    if page.blank:
        return fail(
            "fonts", "text in a typeface that is not in the PDF is not drawn", "install pymupdf again"
        )
    found = "typefaces that are not in a PDF are drawn with MuPDF's own; no system fonts are needed"
    if (page.text_layer or "").split() != TEXT.split():
        return fail("fonts", f"the text layer of the page reads {page.text_layer!r}", "install pymupdf again")
    return ok("fonts", found)


def check_reading(config: Config) -> Iterator[Finding]:
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
    found = f"in {seconds:.1f} s, loading the model {summary.did.load_s:.1f} s of it: {read!r}"
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

    with open_for_reading(database) as db:
        row = next(export_rows(db))
    error = row["error"]
    return row["status"], row["text"] or "", None if error is None else error["message"]
