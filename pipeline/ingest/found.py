"""Defines what a walk finds: a file or object to be probed, or a document that cannot even be opened."""

from dataclasses import dataclass

from pipeline.types import Document, FileStamp


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A regular file, or an object, to probe. relative: its path below the folder being read, with "/".

    given: its path with the folder as the user named it, which is how earlier versions stored it. frames: the names of
    a video's frames, in order, where path is their folder. stamp: of the file as it was found; None where it is not
    known, as of an object.
    """

    path: str
    relative: str
    given: str | None = None
    frames: tuple[str, ...] = ()
    stamp: FileStamp | None = None


Found = Candidate | Document


def unreadable(path: str, status: str, reason: str) -> Document:
    """Returns the document of a path that cannot be opened: broken where its name makes it an input."""
    return Document(
        path=path,
        sha256=None,
        size_bytes=0,
        kind=None,
        num_pages=0,
        status="broken" if status == "broken" else "skipped",
        reason=reason,
    )
