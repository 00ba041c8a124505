"""Keeps the file that a worker is reading open. Never imports torch."""

from collections.abc import Sequence
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

    def get(self, page: Page, passwords: Sequence[str] = ()) -> Any:
        """Returns the pymupdf document, Pillow image or video of the page, checked to be the file that was hashed.

        MuPDF's warnings from here on are about this page (pipeline.documents.damage.complaints).
        Raises: DocumentError, PageRenderError, OSError.
        """
        if self._key != (page.path, page.sha256):
            self.close()
            self._content = FrameContent(page) if page.frames else Content(page)
            try:
                self._document = _open(page, passwords)
                self._content.check_path()
            except BaseException:
                self.close()
                raise
            self._key = (page.path, page.sha256)
        complaints.forget()
        return self._document

    def check(self) -> None:
        """Checks, after a page was drawn, that its file is still what was hashed. Raises: PageRenderError."""
        try:
            if self._content is not None:
                self._content.check()
        except BaseException:
            self.close()  # what a parser holds of a changed file is useless
            raise

    def close_if_damaged(self) -> None:
        """Closes a PDF that MuPDF complained of: it keeps fonts and pictures, and would not complain of them again."""
        if complaints.suspicions(complaints.said()):
            self.close()

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
