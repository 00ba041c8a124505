"""Stage discover: probes one file. Runs in workers; never imports torch.

A file's content decides its kind. A file that is a PDF or image by name only (empty, garbage) is broken;
one that is neither by name nor by content is skipped, unhashed.
"""

import hashlib
import os
import stat
import time
from contextlib import closing
from dataclasses import replace

from pipeline.documents import images, pdf, sniff
from pipeline.documents.damage.content import stamp_of
from pipeline.documents.damage.failures import DocumentError
from pipeline.documents.settings import IngestSettings
from pipeline.types import Document, DocumentStatus, FileStamp, Kind

_LOOKS = 2
_UNSTEADY = "the file was being written while it was inspected; run again when it is complete"


def probe(path: str, settings: IngestSettings) -> Document:
    """Returns the file's kind, sha256 and number of pages, or why it cannot be read.

    A file that is being written meanwhile is probed once more, and is broken if that goes on.
    """
    start = time.perf_counter()
    for _ in range(_LOOKS):
        document, before = _look(path, settings)
        if document.status == "skipped" or before is None or _stamp(path) in (before, None):
            break  # skipped, never opened, unchanged, or gone: the probe saw a complete file
    else:
        document = replace(document, sha256=None, num_pages=0, status="broken", reason=_UNSTEADY, stamp=None)
    return replace(document, seconds=time.perf_counter() - start)


def _look(path: str, settings: IngestSettings) -> tuple[Document, FileStamp | None]:
    """Returns the document, and the file's stamp from before it was read: None if it could not be opened."""
    head, num_pages = b"", 0
    stamp: FileStamp | None = None
    sha256: str | None = None
    status: DocumentStatus = "ok"
    reason: str | None = None
    try:
        head, stamp = _head(path)
        if _is_input(head, path):
            sha256 = _sha256(path)
        num_pages = _count_pages(path, _recognise(head, path), settings)
    except DocumentError as error:
        status, reason = error.status, error.reason
    except OSError as error:
        status = "broken" if sniff.by_name(path) else "skipped"
        reason = f"cannot be read: {error.strerror or error}"
    document = Document(
        path=path,
        sha256=sha256,
        size_bytes=0 if stamp is None else stamp[2],
        kind=_kind(head, path),
        num_pages=num_pages,
        status=status,
        reason=reason,
        stamp=stamp,
    )
    return document, stamp


def _stamp(path: str) -> FileStamp | None:
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return None


def _head(path: str) -> tuple[bytes, FileStamp]:
    """Returns a regular file's first bytes and its stamp. Raises: OSError, DocumentError."""
    # Opened without blocking and checked after that: the file may have become a pipe since the walk.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise DocumentError("skipped", "not a regular file")
        return file.read(sniff.HEAD_BYTES), stamp_of(found)


def _is_input(head: bytes, path: str) -> bool:
    return (sniff.by_content(head, path) or sniff.by_name(path)) is not None


def _kind(head: bytes, path: str) -> Kind | None:
    form = sniff.by_content(head, path)
    return None if form is None else "pdf" if form == "PDF" else "image"


def _recognise(head: bytes, path: str) -> sniff.Format:
    """Returns the format by content. Raises: DocumentError."""
    form, claimed = sniff.by_content(head, path), sniff.by_name(path)
    if form is not None:
        return form
    if claimed is None:
        raise DocumentError("skipped", "not a PDF or image" if head else "an empty file")
    if not head:
        raise DocumentError("broken", f"named as a {claimed} file, but empty (0 bytes)")
    raise DocumentError("broken", f"named as a {claimed} file, but begins with {sniff.describe(head)}")


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _count_pages(path: str, form: sniff.Format, settings: IngestSettings) -> int:
    """Returns the number of pages of a PDF or of frames of an image. Raises: DocumentError, OSError."""
    if form == "PDF":
        with closing(pdf.open_pdf(path, settings.passwords)) as document:
            return pdf.count_pages(document)
    with closing(images.open_image(path, form)) as image:
        if image.width * image.height > settings.max_image_pixels:
            reason = images.oversized_message(image.width, image.height, settings.max_image_pixels)
            raise DocumentError("broken", reason)
        return 1 if settings.video else images.count_frames(image)
