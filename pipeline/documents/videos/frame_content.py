"""Checks that a folder's frames are still those that were hashed, as damage/content.py does for a file."""

from pipeline.documents.damage.content import CHANGED
from pipeline.documents.damage.failures import PageRenderError
from pipeline.documents.videos.frame_folders import sha256_of, stamp_of
from pipeline.types import Page


class FrameContent:
    """The frames of a page's folder. A page without a stamp is not checked. Raises: OSError, PageRenderError."""

    def __init__(self, page: Page) -> None:
        self._page, self._stamp = page, page.stamp
        self.check()

    def check_path(self) -> None:
        """Does nothing: nothing of the folder stays open."""

    def check(self) -> None:
        """Checks that no frame has changed; if the stamp has, the hash decides."""
        found = self._found()
        if self._stamp is None or found == self._stamp:
            return
        if sha256_of(self._page.path, self._page.frames) != self._page.sha256 or self._found() != found:
            raise PageRenderError("changed", CHANGED)
        self._stamp = found

    def close(self) -> None:
        """Does nothing."""

    def _found(self) -> tuple[int, int, int, int, int]:
        try:
            return stamp_of(self._page.path, self._page.frames)
        except FileNotFoundError:  # one of the frames
            raise PageRenderError("changed", CHANGED) from None
