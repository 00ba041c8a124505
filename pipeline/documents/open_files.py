"""Keeps the file that a worker is reading open. Never imports torch."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pipeline.documents import images, pdf, sniff
from pipeline.documents.damage import complaints
from pipeline.documents.damage.content import Content
from pipeline.documents.videos.frame_folders import FrameContent
from pipeline.documents.videos.showing import open_video
from pipeline.types import Page


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
                    self._content = FrameContent(page) if page.frames else Content(page)
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
        return page.kind == "video" or getattr(self._document, "n_frames", 1) == 1

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
