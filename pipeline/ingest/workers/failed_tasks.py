"""What stands for the result of a worker's task that failed."""

from collections import Counter

from pipeline.types import Document, PageKind

# What two of them do, as a sentence about their failure begins.
RENDERING, JUDGING = "rendering the page", "judging the page's text layer"


def broken(path: str, reason: str) -> Document:
    """Returns the row of a file that could not be looked into."""
    return Document(
        path=path, sha256=None, size_bytes=0, kind=None, num_pages=0, status="broken", reason=reason
    )


def unknown(num_pages: int) -> Counter[PageKind]:
    """Returns so many pages of which nothing can be told."""
    return Counter[PageKind]({"unknown": num_pages})
