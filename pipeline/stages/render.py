"""Stage render: a PDF page or image frame to pixels. Runs in workers; never imports torch."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.views import UInt8Array
from ocr.parts.plan import plan
from ocr.parts.types import PartPlan
from ocr.tiling import layout
from pipeline.stages import images, pdf, sniff, text_layer
from pipeline.stages.blank import is_blank
from pipeline.stages.failures import PageRenderError
from pipeline.stages.settings import RenderSettings, TileSettings
from pipeline.types import Page

# A page in parts is rendered at no more than this: some 460 dpi of an A4 page.
_MAX_PARTS_PX = 20_000_000
# A page that takes longer to draw is not interpreted once more for its text layer: its time is limited.
_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageImage:
    """A page's pixels. pixels: [H, W, 3] uint8 RGB; grid: (columns, rows) of its tiles; plan: how it is cut.

    text_layers: the PDF's own text of each reading (the plan's parts, or the page), None where there is none.
    """

    page: Page
    pixels: UInt8Array
    grid: tuple[int, int]
    dpi: float | None
    blank: bool
    plan: PartPlan
    render_s: float
    text_layers: tuple[str | None, ...] = ()


class OpenDocuments:
    """Keeps the file of the last page open: a long PDF is parsed once, not once a page."""

    def __init__(self) -> None:
        self._key: tuple[str, str] | None = None
        self._document: Any = None

    def get(self, page: Page) -> Any:
        """Returns the pymupdf document or Pillow image that holds the page. Raises: DocumentError, OSError."""
        if self._key != (page.path, page.sha256):
            self.close()
            self._document = pdf.open_pdf(page.path) if page.kind == "pdf" else _open_image(page.path)
            self._key = (page.path, page.sha256)
        return self._document

    def close(self) -> None:
        if self._document is not None:
            self._document.close()
        self._key = self._document = None


def render(
    pages: Sequence[Page], settings: RenderSettings, tile: TileSettings, documents: OpenDocuments
) -> list[PageImage]:
    """Returns the pixels of each page, in order.

    A PDF page's size at 144 dpi decides the grid; it is rendered at the resolution that fills the grid's
    canvas, one in parts at that which fills theirs, or either at settings.dpi.
    Raises: DocumentError, PageRenderError, OSError.
    """
    return [_render_page(page, settings, tile, documents) for page in pages]


def _render_page(
    page: Page, settings: RenderSettings, tile: TileSettings, documents: OpenDocuments
) -> PageImage:
    start = time.perf_counter()
    document = documents.get(page)
    dpi: float | None
    if page.kind == "pdf":
        pixels, dpi, grid = pdf.render_pdf_page(document, page.page_index, settings, tile)
    else:
        frame, dpi = images.read_frame(document, page.page_index, settings.max_image_pixels)
        if images.count_frames(document) == 1:
            documents.close()
        pixels = np.array(frame)
        grid = layout(frame.width, frame.height, tile.mode, tile.max_tiles).grid
    blank = is_blank(pixels)
    if blank and page.kind == "pdf" and pdf.shows_text(document, page.page_index):
        # Neither blank nor readable: shown such a page, the model invents text.
        raise PageRenderError("illegible", "its print is too small to be seen at this size; raise render.dpi")
    if blank and page.kind == "pdf" and document.is_repaired:
        # What was lost may have been on this page; calling it blank would hide that.
        raise PageRenderError("broken", "the file is damaged, and nothing of this page could be recovered")
    parts = plan(pixels, tile.max_tiles, grid, fine=tile.fine) if tile.parts and not blank else PartPlan()
    if parts.parts and dpi is not None and page.kind == "pdf" and settings.dpi is None:
        finer = replace(settings, dpi=dpi * _finer(parts, pixels))
        pixels, dpi, _ = pdf.render_pdf_page(document, page.page_index, finer, tile)
        parts = parts.scaled(pixels.shape[1], pixels.shape[0])
    layers: tuple[str | None, ...] = ()
    if page.kind == "pdf" and dpi is not None and not blank and time.perf_counter() - start < _PATIENCE_S:
        lines = text_layer.read_lines(document, page.page_index)
        layers = text_layer.texts(lines, parts, dpi / pdf.POINTS_PER_INCH)
    return PageImage(
        page=page,
        pixels=pixels,
        grid=grid,
        dpi=dpi,
        blank=blank,
        plan=parts,
        render_s=time.perf_counter() - start,
        text_layers=layers,
    )


def _finer(plan_: PartPlan, pixels: UInt8Array) -> float:
    """By how much more finely a page is to be rendered, so that none of its parts is enlarged."""
    height_px, width_px, _ = pixels.shape
    largest = max(part.scale for part in plan_.parts)
    return max(1.0, min(largest, math.sqrt(_MAX_PARTS_PX / (height_px * width_px))))


def _open_image(path: str) -> Any:
    with open(path, "rb") as file:
        kind = sniff.by_content(file.read(sniff.HEAD_BYTES), path)
    return images.open_image(path, kind or "PNG")
