"""Stage discover: probes one file. Runs in workers; never imports torch.

A file's content decides its kind. A file that is a PDF or image by name only (empty, garbage) is broken;
one that is neither by name nor by content is skipped, unhashed.
"""

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import NoReturn, cast, get_args

from pipeline.documents import enclosed, images, pdf, sniff
from pipeline.documents.failures import DocumentError
from pipeline.documents.file_access import open_at_once, stamp_of
from pipeline.documents.other_documents import other_document
from pipeline.documents.settings import IngestSettings
from pipeline.documents.videos import frame_folders
from pipeline.documents.videos.showing import open_video
from pipeline.types import DocumentStatus, InputFile, Kind

_CONTAINERS = get_args(sniff.Container)
_LOOKS = 2
_OTHER = "not a PDF or image"
_VIDEO = f"{_OTHER} but a video; ingest.video: true has a model that reads videos read it"
_UNSTEADY = "the file was being written while it was inspected; run again when it is complete"


def probe(path: str, settings: IngestSettings, frames: tuple[str, ...] = ()) -> InputFile:
    """Returns the file's kind, sha256 and number of pages, or why it cannot be read.

    frames: the names of a video's frames, in order, where path is their folder.

    A file that is being written meanwhile is probed once more, and is broken if that goes on.
    """
    start, probed_ns = time.perf_counter(), time.time_ns()
    for _ in range(_LOOKS):
        document = _looked(path, settings, frames)
        now = None
        with contextlib.suppress(OSError):
            now = frame_folders.stamp_of(path, frames) if frames else stamp_of(os.stat(path))
        if document.status == "skipped" or document.stamp is None or now in (document.stamp, None):
            break  # skipped, never opened, unchanged, or gone: the probe saw a complete file
    else:
        document = replace(document, sha256=None, num_pages=0, status="broken", reason=_UNSTEADY, stamp=None)
    return replace(document, seconds=time.perf_counter() - start, probed_ns=probed_ns)


def _looked(path: str, settings: IngestSettings, frames: tuple[str, ...]) -> InputFile:
    """Returns the document, with the stamp from before it was read: None if it could not be opened."""
    is_folder = bool(frames) or os.path.isdir(path)
    claimed = None if is_folder else sniff.claimed(path, videos=settings.video)
    known = InputFile(path=path, kind="video" if is_folder else None, status="ok", frames=frames)
    try:
        looks = _folder(known) if is_folder else _file(known, settings, claimed)
        for known in looks:  # noqa: B007
            pass
    except DocumentError as error:
        sha256 = None if error.status == "skipped" else known.sha256
        return replace(known, sha256=sha256, status=error.status, reason=error.reason, is_told=error.is_told)
    except OSError as error:
        what = "a frame cannot be read" if is_folder else "cannot be read"
        status: DocumentStatus = "broken" if is_folder or claimed else "skipped"
        return replace(known, status=status, reason=f"{what}: {error.strerror or error}")
    return known


def _file(document: InputFile, settings: IngestSettings, claimed: str | None) -> Iterator[InputFile]:
    """Yields a file's document, each time with more that is known. claimed: what its name says it is.

    Raises: DocumentError, OSError.
    """
    path, kind = document.path, cast(Kind | None, None)
    with open_at_once(path) as file:
        stamp = stamp_of(os.fstat(file.fileno()))
        if stamp is None:
            raise DocumentError("skipped", "not a regular file")
        head = file.read(sniff.HEAD_BYTES)
    if (form := sniff.found(head, path, videos=settings.video)) is not None:
        kind = "pdf" if form == "PDF" else "video" if form in _CONTAINERS else "image"
    document = replace(document, kind=kind, stamp=stamp, size_bytes=stamp[2])
    yield document
    if form or claimed:
        with open(path, "rb") as file:
            document = replace(document, sha256=hashlib.file_digest(file, "sha256").hexdigest())
        yield document
    num_pages, reason = _count_pages(path, form or _unread(head, path, claimed), settings)
    yield replace(document, num_pages=num_pages, reason=reason, is_told=reason is not None)


def _folder(document: InputFile) -> Iterator[InputFile]:
    """Yields the document of a folder of frames, as `_file` does. Raises: DocumentError, OSError."""
    folder, frames = document.path, document.frames
    stamp = frame_folders.stamp_of(folder, frames)
    document = replace(document, stamp=stamp, size_bytes=stamp[2])
    yield document
    document = replace(document, sha256=frame_folders.sha256_of(folder, frames))
    yield document
    frame_folders.FrameFolder(folder, frames)
    yield replace(document, num_pages=1)


def _unread(head: bytes, path: str, claimed: str | None) -> NoReturn:
    """Raises the DocumentError of a file whose content is none of what is read. claimed: what its name says it is."""
    if claimed is None:
        is_video = sniff.video_by_content(head) is not None and sniff.video_by_name(path) is not None
        if head and not is_video and (other := _other(path)):
            raise DocumentError("skipped", other, is_told=True)
        raise DocumentError("skipped", (_VIDEO if is_video else _OTHER) if head else "an empty file")
    if not head:
        raise DocumentError("broken", f"named as a {claimed} file, but empty (0 bytes)")
    if not sniff.is_web_page(head) and (other := _other(path)):
        raise DocumentError("broken", f"named as a {claimed} file, but is {other}")
    raise DocumentError("broken", f"named as a {claimed} file, but begins with {sniff.describe(head)}")


def _other(path: str) -> str:
    with open(path, "rb") as file:
        return other_document(file)


def _count_pages(
    path: str, form: sniff.Format | sniff.Container, settings: IngestSettings
) -> tuple[int, str | None]:
    """Returns the number of pages of a PDF or of frames of an image, 1 for a video, and what of it is left out, if any.

    Raises: DocumentError, OSError.
    """
    if form == "PDF":
        with closing(pdf.open_pdf(path, settings.passwords)) as document:
            return pdf.count_pages(document), enclosed.left_out(document) or None
    if form in _CONTAINERS:
        with closing(open_video(path)) as video:
            _check_size(video.width_px, video.height_px, settings)
            return 1, None
    with closing(images.open_image(path, cast(sniff.Format, form))) as image:
        _check_size(image.width, image.height, settings)
        return (1, None) if settings.video else (images.count_frames(image), images.left_out(image) or None)


def _check_size(width_px: int, height_px: int, settings: IngestSettings) -> None:
    if width_px * height_px > settings.max_image_pixels:
        reason = images.oversized_message(width_px, height_px, settings.max_image_pixels)
        raise DocumentError("broken", reason)
