"""Makes a searchable PDF in a worker process: the file is untrusted, as when it was read. Torch-free."""

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.documents import file_access, sniff
from pipeline.documents.searchable.invisible_text import TextPage
from pipeline.documents.searchable.searchable_pdf import (
    NotArchivalError,
    NotSearchableError,
    archival,
    searchable,
)

CHANGED = "has changed since it was read: run again, then export"


@dataclass(frozen=True, slots=True)
class NotArchival:
    """A searchable PDF that is no PDF/A, and why."""

    data: bytes
    reason: str


def searchable_task(
    path: str, sha256: str, pages: Sequence[TextPage], is_archival: bool
) -> bytes | str | NotArchival:
    """Returns the document as a PDF with text, or the reason why there is none, as in "it ...".

    sha256: of the content that was read. is_archival: whether it is to be a PDF/A. Exceptions of C parsers cannot be
    pickled, so none is raised.
    """
    try:
        data = Path(path).read_bytes()
        if hashlib.sha256(data).hexdigest() != sha256:
            return CHANGED
        kind = sniff.by_content(data[: sniff.HEAD_BYTES], path)
        if kind is None:
            return "is no PDF and no picture"
        if data.startswith(file_access.GZIP_MAGIC):
            data = file_access.unpacked(io.BytesIO(data))
        made = searchable(data, kind, pages)
        return archival_task(made) if is_archival else made
    except NotSearchableError as error:
        return str(error)
    except OSError as error:
        return f"cannot be read any more: {error.strerror or error}"
    except MemoryError:
        return "takes more memory than a worker may use"
    except Exception as error:
        return f"cannot be made a searchable PDF: {type(error).__name__}: {error}"


def archival_task(data: bytes, by_ghostscript: bool = False) -> bytes | str | NotArchival:
    """Returns a PDF as PDF/A, or why it is none: as it is for what Ghostscript may help with, else as in "it ..."."""
    try:
        return archival(data, by_ghostscript=by_ghostscript)
    except NotArchivalError as error:
        return NotArchival(data, str(error))
    except NotSearchableError as error:
        return str(error)
    except MemoryError:
        return "takes more memory than a worker may use"
    except Exception as error:
        return f"cannot be made a PDF/A: {type(error).__name__}: {error}"
