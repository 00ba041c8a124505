"""What kind of pages a document has, without reading them. For a run's plan, in workers; never imports torch."""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from pipeline.documents import pdf
from pipeline.documents.damage.failures import PageRenderError
from pipeline.text_layer.page import is_trusted
from pipeline.types import Kind, PageKind


def survey(
    path: str, kind: Kind, indices: Sequence[int], passwords: Sequence[str], *, takes_layers: bool = False
) -> Counter[PageKind]:
    """Returns how many of the pages are of which kind.

    embedded: has a text layer that a run takes instead of reading the page, where takes_layers says that it takes any;
    digital: has another text layer, a scan with recognised text under it too; scanned: shows something, but no text;
    empty: draws nothing; unknown: cannot be told, the page is damaged. The frames of an image are scanned: whether one
    is blank only its pixels say. Raises: DocumentError, OSError.
    """
    if kind == "image":
        return Counter[PageKind]({"scanned": len(indices)})
    with closing(pdf.open_pdf(path, passwords)) as document:
        return Counter(_kind(document, index, takes_layers) for index in indices)


def _kind(document: Any, index: int, takes_layers: bool) -> PageKind:
    try:
        drawn = {name for name, _ in pdf.drawn(document, index)}
    except PageRenderError:  # the run will say what is wrong
        return "unknown"
    if not drawn:
        return "empty"
    if not any(name.endswith("-text") for name in drawn):
        return "scanned"
    return "embedded" if takes_layers and is_trusted(document, index) else "digital"
