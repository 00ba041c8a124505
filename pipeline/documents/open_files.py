"""Keeps the file that a worker is reading open, and checks that it still has the content that was hashed.

So no text is stored under another content's hash. Never imports torch.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from typing import Any

from pipeline.documents import images, pdf, sniff
from pipeline.documents.damage import complaints
from pipeline.documents.failures import PageRenderError
from pipeline.documents.file_access import open_at_once, stamp_of
from pipeline.documents.videos import frame_folders
from pipeline.documents.videos.showing import open_video
from pipeline.types import FileStamp, Page

CHANGED = "the file was changed after it was inspected; run again to read what it holds now"


class Content:
    """A page's file, held open by a descriptor of its own, which renaming or deleting the file does not affect.

    Of a folder of frames nothing is held open. The parsers open the file by its path; `check` verifies that they see
    what was hashed. Pages without a stamp are not checked. Raises: OSError, PageRenderError ("changed").
    """

    def __init__(self, page: Page) -> None:
        self._page, self._stamp = page, page.stamp
        self._file: BufferedReader | None = None
        try:
            if not page.frames:
                self._file = open_at_once(page.path)
            self.check()
        except BaseException:
            self.close()
            raise

    def check_path(self) -> None:
        """Checks that the path still leads to this file. Call it after a parser has opened the path."""
        if self._file and not os.path.samestat(os.stat(self._page.path), os.fstat(self._file.fileno())):
            raise PageRenderError("changed", CHANGED)

    def check(self) -> None:
        """Checks that the content has not changed; if the stamp has, the hash decides."""
        found = self._found()
        if found is not None and self._stamp in (None, found):
            return
        if found is None or self._hashed() != self._page.sha256 or self._found() != found:
            raise PageRenderError("changed", CHANGED)
        self._stamp = found

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()

    def _found(self) -> FileStamp | None:
        if self._file is not None:
            return stamp_of(os.fstat(self._file.fileno()))
        try:
            return frame_folders.stamp_of(self._page.path, self._page.frames)
        except FileNotFoundError:  # one of the frames
            raise PageRenderError("changed", CHANGED) from None

    def _hashed(self) -> str:
        if self._file is None:
            return frame_folders.sha256_of(self._page.path, self._page.frames)
        self._file.seek(0)
        return hashlib.file_digest(self._file, "sha256").hexdigest()


class OpenDocuments:
    """Keeps the file of the last page open, so that a long PDF is parsed once and not once a page."""

    def __init__(self) -> None:
        self._key: tuple[str, str] | None = None
        self._document: Any = None
        self._content: Content | None = None

    @contextmanager
    def opened(self, page: Page, passwords: Sequence[str] = ()) -> Iterator[Any]:
        """Yields the pymupdf document, Pillow image or video of the page, checked to be the file that was hashed.

        So it is again after the block. MuPDF's warnings within it are about this page
        (pipeline.documents.damage.complaints). Raises: DocumentError, PageRenderError, OSError.
        """
        try:
            if self._key != (page.path, page.sha256):
                self.close()
                with self._closed_on_error():
                    self._content = Content(page)
                    self._document = _open(page, passwords)
                    self._content.check_path()
                self._key = (page.path, page.sha256)
            assert self._content is not None, "it is open"
            if page.kind == "pdf":
                complaints.forget()
            yield self._document
            with self._closed_on_error():  # what a parser holds of a changed file is useless
                self._content.check()
        finally:
            if self._document is not None and self._is_used_up(page):
                self.close()

    @contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _is_used_up(self, page: Page) -> bool:
        """Returns whether a document cannot be drawn from again as it is.

        The pixels of a file's only picture are turned in place. Of a PDF that MuPDF complained of it keeps fonts and
        pictures, and would not complain again.
        """
        if page.kind == "pdf":
            return bool(complaints.suspicions(complaints.said()))
        try:
            return page.kind == "video" or getattr(self._document, "n_frames", 1) == 1
        except images.DECODE_ERRORS:
            return True

    def close(self) -> None:
        """Closes the file, if one is open."""
        document, content = self._document, self._content
        self._key = self._document = self._content = None
        if content is not None:
            content.close()
        if document is not None:
            document.close()


def _open(page: Page, passwords: Sequence[str]) -> Any:
    if page.kind == "pdf":
        return pdf.open_pdf(page.path, passwords)
    if page.kind == "video":
        return open_video(page.path, page.frames)
    with open(page.path, "rb") as file:
        kind = sniff.by_content(file.read(sniff.HEAD_BYTES), page.path)
    return images.open_image(page.path, kind or "PNG")
