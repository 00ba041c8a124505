"""The export format pdf: each document as a searchable PDF, made in worker processes."""

import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from pipeline.documents.searchable.invisible_text import TextPage
from pipeline.documents.settings import IngestSettings
from pipeline.export.searchable_task import NotArchival, archival_task, searchable_task
from pipeline.ingest.objects.spool import Spool
from pipeline.ingest.workers import failed_tasks, tasks
from pipeline.ingest.workers.pool import FilePool
from storage.errors import MissingExtraError, NotExportedError
from storage.export.formats import FORMATS, Format
from storage.export.rows import PageRow
from storage.strings.text import real_path

# What pikepdf.pdfa needs, itself included; it comes with pikepdf 10.18.
_PDFA_MODULES = ("pikepdf.pdfa", "jsonschema", "referencing", "fontTools")
_MEMORY_BYTES = 4 << 30
_LIMIT_S, _PAGE_S = 120.0, 2.0
# Pictures are not made worse: they stay JPEG, or are stored without loss.
_OPTIONS = (
    *("-dSAFER", "-dBATCH", "-dNOPAUSE", "-dQUIET", "-sDEVICE=pdfwrite", "-dPDFA=2"),
    *("-dPDFACompatibilityPolicy=1", "-dAutoRotatePages=/None", "-sColorConversionStrategy=RGB"),
    *("-dEmbedAllFonts=true", "-dPassThroughJPEGImages=true", "-dDownsampleColorImages=false"),
    *("-dDownsampleGrayImages=false", "-dDownsampleMonoImages=false", "-dAutoFilterColorImages=false"),
    *("-dAutoFilterGrayImages=false", "-dColorImageFilter=/FlateEncode", "-dGrayImageFilter=/FlateEncode"),
)


@contextmanager
def all_formats(*, is_archival: bool = False) -> Iterator[dict[str, Format]]:
    """Yields all formats, those for which documents are opened too; their workers end with the block.

    is_archival: whether PDFs are PDF/A. Raises: MissingExtraError where that needs packages that are not there.
    """
    if is_archival and not all(find_spec(name) for name in _PDFA_MODULES):
        raise MissingExtraError("--pdfa needs pikepdf's own tools for it: pip install 'pikepdf[pdfa]'")
    with _Workers(is_archival) as workers:
        pdf = Format(write=workers.write, ending=".pdf", one_file="document", with_words=True, is_binary=True)
        yield FORMATS | {"pdf": pdf}


class _Workers(FilePool):
    """The pool of processes that make PDFs; none is started before the first document."""

    def __init__(self, is_archival: bool) -> None:
        self._is_archival = is_archival
        initargs = _MEMORY_BYTES, "ocrb-export"
        super().__init__(Spool(IngestSettings()), max_workers=1, initializer=tasks.start, initargs=initargs)

    def __enter__(self) -> "_Workers":
        return self

    def write(self, rows: Iterable[PageRow], stream: BinaryIO) -> None:
        """Writes a document as a searchable PDF. Raises: NotExportedError."""
        pages = list(rows)
        path, sha256 = pages[0]["path"], pages[0]["sha256"]
        if pages[0]["superseded"]:
            raise NotExportedError(f"{path}: what it held before is there no more")
        texts = [page for page in map(_text, pages) if page is not None]
        limit_s = _LIMIT_S + _PAGE_S * len(pages)

        def failed(error: BaseException) -> bytes | str | NotArchival:
            return f"cannot be made a searchable PDF: it {failed_tasks.failure_of(error, limit_s)[1]}"

        def submit(file: str) -> Future[bytes | str | NotArchival]:
            return self._submit(
                searchable_task, (real_path(file), sha256, texts, self._is_archival), limit_s, failed
            )

        made = self._on_file(path, submit, lambda reason: reason).result()
        if isinstance(made, NotArchival) and (anew := rewritten(made.data, limit_s)) is not None:
            made = self._submit(archival_task, (anew, True), limit_s, failed).result()
        if isinstance(made, NotArchival):
            remedy = "" if has_ghostscript() else "; Ghostscript may help: apt install ghostscript"
            made = f"cannot be made a PDF/A: {made.reason}{remedy}"
        if isinstance(made, str):
            raise NotExportedError(f"{path}: {made}")
        stream.write(made)


def _text(row: PageRow) -> TextPage | None:
    """Returns the words to add to a page; None for a page that has its text already, or none."""
    if row["source"] != "ocr" or not row["width_px"] or not row["height_px"]:
        return None
    boxes = ((word["text"], word["box"]) for word in row["words"])
    return TextPage(
        page_index=row["page"] - 1,
        width_px=row["width_px"],
        height_px=row["height_px"],
        rotation_deg=row["rotation_deg"] or 0,
        words=[(text, box) for text, box in boxes if box is not None],
    )


def has_ghostscript() -> bool:
    """Returns whether Ghostscript is installed."""
    return shutil.which("gs") is not None


def rewritten(data: bytes, limit_s: float) -> bytes | None:
    """Returns the PDF as Ghostscript writes it, in a process of its own; None where it fails or takes longer.

    It writes the pages anew, with what PDF/A needs: fonts within the file, colours as RGB.
    """
    with TemporaryDirectory() as folder:
        before, after = Path(folder, "before.pdf"), Path(folder, "after.pdf")
        before.write_bytes(data)
        command = ["gs", *_OPTIONS, f"-sOutputFile={after}", str(before)]
        try:
            with subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as process:
                try:
                    if (
                        sys.platform == "linux"
                    ):  # the file is not trusted, and its memory may grow without end
                        import resource

                        resource.prlimit(process.pid, resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
                    code = process.wait(limit_s)
                finally:
                    process.kill()
            return after.read_bytes() if code == 0 else None
        except (OSError, subprocess.TimeoutExpired):
            return None
