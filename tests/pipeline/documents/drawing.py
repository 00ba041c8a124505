"""Draws pages of files as a worker does."""

from pathlib import Path
from typing import Any

from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.stages.render import PageImage, render
from pipeline.types import Kind, Page

SAMPLES = Path(__file__).parents[2] / "samples"


def page_of(path: Path, index: int = 0) -> Page:
    """Returns a page of a PDF or image, of which nothing is known but that."""
    is_pdf = path.exists() and b"%PDF" in path.read_bytes()[:1024]
    kind: Kind = "pdf" if is_pdf else "image"
    return Page(path=str(path), sha256="0" * 64, kind=kind, page_index=index)


def show(
    path: Path,
    index: int = 0,
    *,
    tile: TileSettings | None = None,
    documents: OpenDocuments | None = None,
    **settings: Any,
) -> PageImage:
    """Returns a page as it is drawn. settings: of RenderSettings."""
    page = page_of(path, index)
    return render(page, RenderSettings(**settings), tile or TileSettings(), documents or OpenDocuments())
