"""Stage render: turns a PDF page, an image frame or a video into pixels. Runs in workers; never imports torch."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from encoders.video_timing import VideoTiming
from encoders.views import UInt8Array
from ocr.imaging import planes
from ocr.imaging.tiling import layout
from ocr.orientation.detect import Orientation
from pipeline.documents import images, orientation, pdf
from pipeline.documents.blank import is_blank
from pipeline.documents.damage import image_losses, page_losses
from pipeline.documents.damage.failures import PageRenderError
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.documents.videos.showing import take
from pipeline.text_layer.extract.spans import read_text
from pipeline.types import Page, PageFacts

# On a page so large that it is drawn with less, print of usual size cannot be seen.
_LEAST_DPI = 60
# A page that takes longer to draw does not get its text layer extracted too: rendering has a time limit.
_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageImage(PageFacts):
    """A rendered page. pixels: [H, W, 3] uint8 RGB, in the memory layout of ocr.imaging.planes.

    grid: (columns, rows) of its tiles. text_layer: the PDF's own text for it, None where there is none.
    frames: [T, H, W, 3] of a page that is a video, whose first one is pixels. timing: of these, where it is known.
    """

    pixels: UInt8Array
    grid: tuple[int, int]
    blank: bool = False
    render_s: float = 0.0
    text_layer: str | None = None
    frames: UInt8Array | None = None
    timing: VideoTiming | None = None


def render(
    pages: Sequence[Page], settings: RenderSettings, tile: TileSettings, documents: OpenDocuments
) -> list[PageImage]:
    """Returns the pixels of each page, in order.

    A PDF page's size at 144 dpi decides the grid. The page is rendered at the resolution that fills the grid's
    canvas, or at settings.dpi.
    Raises: DocumentError, PageRenderError, OSError.
    """
    found = []
    for page in pages:
        try:
            found.append(_rendered(page, settings, tile, documents))
        finally:
            if page.kind == "pdf":
                documents.close_if_damaged()
    return found


def _rendered(
    page: Page, settings: RenderSettings, tile: TileSettings, documents: OpenDocuments
) -> PageImage:
    start = time.perf_counter()
    document = documents.get(page, settings.passwords)
    drawn, stands, blank = _upright(page, document, settings, tile)
    missing = page_losses.missing_message(document, page.page_index) if page.kind == "pdf" else drawn.missing
    if blank:
        _check_blank(page, document, missing, drawn.dpi)
    angle_deg = orientation.taken(stands, settings)
    if page.kind == "video" or (page.kind == "image" and images.count_frames(document) == 1):
        documents.check()
        documents.close()
    layer = None
    if page.kind == "pdf" and not blank and time.perf_counter() - start < _PATIENCE_S:
        layer = read_text(document, page.page_index) or None
    documents.check()
    return replace(
        drawn,
        blank=blank,
        render_s=time.perf_counter() - start,
        text_layer=layer,
        rotation_deg=angle_deg,
        runner_up_deg=stands.runner_up_deg,
        missing=missing,
    )


def _upright(
    page: Page, document: Any, settings: RenderSettings, tile: TileSettings
) -> tuple[PageImage, Orientation, bool]:
    """Draws a page upright and returns it with its orientation and whether it is blank."""
    stands = orientation.declared(document, page.page_index, settings) if page.kind == "pdf" else None
    drawn_deg = orientation.taken(stands, settings) if stands else 0
    drawn = _draw(page, document, settings, tile, drawn_deg)
    if drawn.frames is not None:  # frames may stand in any way, and are read together as they are
        return drawn, Orientation(), all(map(is_blank, drawn.frames))
    blank = is_blank(drawn.pixels)
    if stands is None:
        stands = orientation.seen(drawn.pixels, settings, blank=blank)
    angle_deg = orientation.taken(stands, settings)
    if angle_deg != drawn_deg:
        drawn = _turned(page, document, settings, tile, drawn, angle_deg)
    return drawn, stands, blank


def _draw(
    page: Page, document: Any, settings: RenderSettings, tile: TileSettings, angle_deg: int
) -> PageImage:
    dpi: float | None = None
    missing, frames, timing = "", None, None
    if page.kind == "pdf":
        with pdf.turned(document, page.page_index, angle_deg):
            pixels, dpi, grid = pdf.render_pdf_page(document, page.page_index, settings, tile)
    elif page.kind == "video":
        shown = take(document, tile.video, settings.max_image_pixels)
        pixels, missing, timing = shown.frames[0], document.missing, shown.timing
        frames = None if tile.video is None else shown.frames
    else:
        pixels, dpi, missing, frames = _decoded(page, document, settings, tile)
    height_px, width_px, _ = pixels.shape
    if page.kind != "pdf":
        grid = layout(width_px, height_px, tile.mode, tile.max_tiles).grid
    return PageImage(
        page=page,
        width_px=width_px,
        height_px=height_px,
        dpi=dpi,
        missing=missing,
        pixels=pixels,
        grid=grid,
        frames=frames,
        timing=timing,
    )


def _decoded(
    page: Page, document: Any, settings: RenderSettings, tile: TileSettings
) -> tuple[UInt8Array, float | None, str, UInt8Array | None]:
    """Returns an image file's pixels, their dpi, what is missing of them, and its frames where they are one page."""
    with image_losses.libtiff_words(document) as words:
        frames = None
        if tile.video is not None:
            frames = images.read_frames(document, settings.max_image_pixels, tile.video.most_frames)
        pixels, dpi = (
            images.read_frame(document, page.page_index, settings.max_image_pixels)
            if frames is None
            else (frames[0], None)
        )
    return pixels, dpi, image_losses.missing_message(page.path, document, words), frames


def _turned(
    page: Page, document: Any, settings: RenderSettings, tile: TileSettings, drawn: PageImage, angle_deg: int
) -> PageImage:
    """Returns the page rotated clockwise. A PDF page is drawn anew: on its side it fills another canvas."""
    if page.kind == "pdf":
        return _draw(page, document, settings, tile, angle_deg)
    pixels = planes.turned(drawn.pixels, -angle_deg // 90)
    height_px, width_px, _ = pixels.shape
    grid = layout(width_px, height_px, tile.mode, tile.max_tiles).grid
    return replace(drawn, pixels=pixels, width_px=width_px, height_px=height_px, grid=grid)


def _check_blank(page: Page, document: Any, missing: str, dpi: float | None) -> None:
    """Raises PageRenderError where a page only looks blank. missing: what of it could not be drawn; dpi: it was at."""
    if missing:
        raise PageRenderError("unreadable", missing)
    if page.kind != "pdf":
        return
    if pdf.shows_text(document, page.page_index) or (
        dpi is not None and dpi < _LEAST_DPI and pdf.drawn(document, page.page_index)
    ):
        # Neither blank nor readable: given such a page, the model invents text.
        raise PageRenderError("illegible", "its print is too small to be seen at this size; raise render.dpi")
    if document.is_repaired:
        # The lost content may have been on this page; calling the page blank would hide that.
        raise PageRenderError("broken", "the file is damaged, and nothing of this page could be recovered")
    if reason := page_losses.blank_reason(document, page.page_index):
        raise PageRenderError("unreadable", reason)
