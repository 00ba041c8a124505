"""Makes the results that replace those of failed worker tasks."""

from collections import Counter

from pipeline.types import Document, PageKind

# How the message about a failed task of each kind begins.
RENDERING, JUDGING = "rendering the page", "judging the page's text layer"


def broken(path: str, reason: str) -> Document:
    """Returns the document of a file that could not be probed."""
    return Document(
        path=path, sha256=None, size_bytes=0, kind=None, num_pages=0, status="broken", reason=reason
    )


def unknown(num_pages: int) -> Counter[PageKind]:
    """Returns a survey in which all the pages are of unknown kind."""
    return Counter[PageKind]({"unknown": num_pages})
