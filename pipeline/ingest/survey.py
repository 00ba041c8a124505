"""Surveys what kinds of pages a document has without reading them, for a run's plan. Runs in workers; torch-free."""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from pipeline.documents import pdf
from pipeline.documents.damage.failures import PageRenderError
from pipeline.text_layer.page import is_trusted
from pipeline.types import Kind, PageKind


def survey(
    path: str,
    kind: Kind,
    indices: Sequence[int],
    passwords: Sequence[str],
    *,
    takes_layers: bool = False,
    partly: bool = False,
) -> Counter[PageKind]:
    """Returns how many of the pages are of each kind.

    embedded: has a text layer that a run takes instead of reading the page, if takes_layers says that it takes any, and
    partly that it reads beside it what else the page shows;
    digital: has another text layer, such as recognised text under a scan; scanned: shows something, but no text;
    empty: draws nothing; unknown: cannot be told, as the page is damaged. The frames of an image, and videos,
    count as scanned: only pixels tell whether one is blank. Raises: DocumentError, OSError.
    """
    if kind != "pdf":
        return Counter[PageKind]({"scanned": len(indices)})
    with closing(pdf.open_pdf(path, passwords)) as document:
        return Counter(_kind(document, index, takes_layers, partly) for index in indices)


def _kind(document: Any, index: int, takes_layers: bool, partly: bool) -> PageKind:
    try:
        drawn = {name for name, _ in pdf.drawn(document, index)}
    except PageRenderError:  # the run will say what is wrong
        return "unknown"
    if not drawn:
        return "empty"
    if not any(name.endswith("-text") for name in drawn):
        return "scanned"
    return "embedded" if takes_layers and is_trusted(document, index, partly=partly) else "digital"
