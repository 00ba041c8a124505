"""Defines what a walk finds: a file or object to be probed, or a document that cannot even be opened.

And knows files that have not changed since an earlier run looked into them, without opening them.
"""

from dataclasses import dataclass
from typing import Any

from pipeline.documents import sniff
from pipeline.documents.settings import IngestSettings
from pipeline.types import FileStamp, InputFile
from storage.strings.urls import name_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A regular file, or an object, to probe. relative: its path below the folder being read, with "/".

    frames: the names of a video's frames, in order, where path is their folder. stamp: of the file as it was found;
    None where it is not known, as of an object.
    """

    path: str
    relative: str
    frames: tuple[str, ...] = ()
    stamp: FileStamp | None = None


Found = Candidate | InputFile


def unreadable(path: str, status: str, reason: str) -> InputFile:
    """Returns the document of a path that cannot be opened: broken where its name makes it an input."""
    return InputFile(path=path, status="broken" if status == "broken" else "skipped", reason=reason)


def refused(url: str, reason: str, settings: IngestSettings) -> InputFile:
    """Returns the document of an object that cannot be had: broken where its name makes it an input, else skipped."""
    name = name_of(url)
    is_input = sniff.claimed(name, videos=settings.video)
    # Without an ending its content would decide, which nobody has seen.
    return unreadable(url, "broken" if is_input or "." not in name else "skipped", reason)


# Raised when the same file is to be looked into again: it has another kind, number of pages, or something left out.
_RULES = 2
# A file that changes twice within a tick of its file system's clock has one stamp for two contents.
_SETTLED_NS = 2_000_000_000


def known_by(stamp: FileStamp, settings: IngestSettings) -> str:
    """Returns what stands for a file's state, and for the settings that decide what is found in it."""
    return ":".join(map(str, (_RULES, int(settings.video), settings.max_image_pixels, *stamp)))


def kept_stamp(document: InputFile, settings: IngestSettings) -> str | None:
    """Returns what to know a document by from now on; None where it may still be changing unseen."""
    stamp = document.stamp
    if stamp is None or document.frames or document.status != "ok":
        return None
    return known_by(stamp, settings) if document.probed_ns - max(stamp[3:]) > _SETTLED_NS else None


def document_of(found: Candidate, known: dict[str, Any]) -> InputFile:
    """Returns the document of a file that has not changed. known: as storage.records.files.known returns it."""
    return InputFile(
        path=found.path,
        status="ok",
        is_told=known["reason"] is not None,
        stamp=found.stamp,
        is_known=True,
        **known,
    )
