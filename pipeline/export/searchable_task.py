"""Makes a searchable PDF in a worker process: the file is untrusted, as when it was read. Torch-free."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from pipeline.documents import sniff
from pipeline.documents.searchable.invisible_text import TextPage
from pipeline.documents.searchable.searchable_pdf import NotSearchableError, searchable

CHANGED = "has changed since it was read: run again, then export"


def searchable_task(path: str, sha256: str, pages: Sequence[TextPage]) -> bytes | str:
    """Returns the document as a PDF with text, or the reason why there is none, as in "it ...".

    sha256: of the content that was read. Exceptions of C parsers cannot be pickled, so none is raised.
    """
    try:
        data = Path(path).read_bytes()
        if hashlib.sha256(data).hexdigest() != sha256:
            return CHANGED
        kind = sniff.by_content(data[: sniff.HEAD_BYTES], path)
        return "is no PDF and no picture" if kind is None else searchable(data, kind, pages)
    except NotSearchableError as error:
        return str(error)
    except OSError as error:
        return f"cannot be read any more: {error.strerror or error}"
    except MemoryError:
        return "takes more memory than a worker may use"
    except Exception as error:
        return f"cannot be made a searchable PDF: {type(error).__name__}: {error}"
