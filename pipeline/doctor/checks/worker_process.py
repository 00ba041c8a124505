"""Checks a worker process: it starts, limits itself, and renders a page whose typeface is not in the file."""

import hashlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ocr.model_files.locate import SHIPPED
from pipeline.config.schema import Config, ingest_settings, render_settings, tile_settings
from pipeline.doctor.checks.model_files import local_directory
from pipeline.doctor.finding import Finding, fail, ok
from pipeline.doctor.sample_page import TEXT, sample_pdf
from pipeline.ingest.workers.pool import WorkerPool
from pipeline.run.budget import heaviest_page_bytes
from pipeline.types import EmbeddedPage, Page, ReadyPage, RenderedPage
from storage.types import PageError

_TIMEOUT_S = 60.0


def check(config: Config) -> Iterator[Finding]:
    """Probes and renders the built-in page as a run would."""
    with tempfile.TemporaryDirectory(prefix="ocrbatch-doctor-") as folder:
        path = Path(folder, "sample.pdf")
        path.write_bytes(sample_pdf())
        yield from _render(path, config)


def _render(path: Path, config: Config) -> Iterator[Finding]:
    tile = tile_settings(config if local_directory(config.model) else _with_shipped(config))
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


_REMEDY = "check that processes can be started here, with memory and pipes"


def _with_shipped(config: Config) -> Config:
    """Returns the configuration with the shipped model, in place of one whose files are not here to be asked."""
    return config.model_copy(update={"model": SHIPPED, "reader": "page"})


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
