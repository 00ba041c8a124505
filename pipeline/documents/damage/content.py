"""Checks that a file still has the content that was hashed, so that no text is stored under another content's hash.

Never imports torch.
"""

import hashlib
import os
import stat

from pipeline.documents.damage.failures import PageRenderError
from pipeline.types import FileStamp, Page

CHANGED = "the file was changed after it was inspected; run again to read what it holds now"
_CHUNK_BYTES = 1 << 20


def stamp_of(found: os.stat_result) -> FileStamp:
    """Returns the stamp that changes with a file's content: device, inode, size in bytes, and both times in ns."""
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


class Content:
    """A page's file, held open by a descriptor of its own, which renaming or deleting the file does not affect.

    The parsers open the file by its path; `check` verifies that they see what was hashed. Pages without a stamp
    are not checked. Raises: OSError, PageRenderError ("changed").
    """

    def __init__(self, page: Page) -> None:
        self._page, self._stamp = page, page.stamp
        # Opened without blocking: the file may have become a pipe.
        self._descriptor = os.open(page.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
                raise PageRenderError("changed", CHANGED)
            self.check()
        except BaseException:
            self.close()
            raise

    def check_path(self) -> None:
        """Checks that the path still leads to this file. Call it after a parser has opened the path."""
        if not os.path.samestat(os.stat(self._page.path), os.fstat(self._descriptor)):
            raise PageRenderError("changed", CHANGED)

    def check(self) -> None:
        """Checks that the content has not changed; if the stamp has, the hash decides."""
        found = self._found()
        if self._stamp is None or found == self._stamp:
            return
        if self._hashed() != self._page.sha256 or self._found() != found:
            raise PageRenderError("changed", CHANGED)
        self._stamp = found

    def close(self) -> None:
        """Closes the descriptor."""
        os.close(self._descriptor)

    def _found(self) -> FileStamp:
        return stamp_of(os.fstat(self._descriptor))

    def _hashed(self) -> str:
        digest = hashlib.sha256()
        with open(self._descriptor, "rb", closefd=False) as file:
            file.seek(0)
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
        return digest.hexdigest()
