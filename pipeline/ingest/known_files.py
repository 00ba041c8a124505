"""Knows files that have not changed since an earlier run looked into them, without opening them."""

from typing import Any

from pipeline.documents.settings import IngestSettings
from pipeline.ingest.found import Candidate
from pipeline.types import Document, FileStamp

# Raised when the same file is to be looked into again: it has another kind, number of pages, or something left out.
_RULES = 2
# A file that changes twice within a tick of its file system's clock has one stamp for two contents.
_SETTLED_NS = 2_000_000_000


def known_by(stamp: FileStamp, settings: IngestSettings) -> str:
    """Returns what stands for a file's state, and for the settings that decide what is found in it."""
    return ":".join(map(str, (_RULES, int(settings.video), settings.max_image_pixels, *stamp)))


def kept_stamp(document: Document, settings: IngestSettings) -> str | None:
    """Returns what to know a document by from now on; None where it may still be changing unseen."""
    stamp = document.stamp
    if stamp is None or document.frames or document.status != "ok":
        return None
    return known_by(stamp, settings) if document.probed_ns - max(stamp[3:]) > _SETTLED_NS else None


def document_of(found: Candidate, known: dict[str, Any]) -> Document:
    """Returns the document of a file that has not changed. known: as storage.records.files.known returns it."""
    return Document(
        path=found.path,
        status="ok",
        is_told=known["reason"] is not None,
        stamp=found.stamp,
        given=found.given,
        is_known=True,
        **known,
    )
