"""Stage render: turns a PDF page, an image frame or a video into pixels, and these into what a reader takes.

That are the encoder's views, or the page in grey for the line reader. Runs in workers; never imports torch.
"""

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from PIL import Image

from encoders.video_timing import VideoTiming
from encoders.views import PageViews, UInt8Array
from ocr.imaging import planes
from ocr.imaging.colour import colour_contrast
from ocr.imaging.tiling import views
from ocr.orientation.detect import Orientation
from pipeline.documents import orientation, pdf
from pipeline.documents.blank import is_blank
from pipeline.documents.damage import image_losses, page_losses
from pipeline.documents.failures import PageRenderError
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import MAX_GREY_PX, MAX_INK_PX, RenderSettings, TileSettings
from pipeline.documents.videos.showing import take
from pipeline.text_layer.extract.spans import read_text
from pipeline.types import Page, PageFacts, RenderedPage
from storage.types import facts_of

# On a page so large that it is drawn with less, print of usual size cannot be seen.
_LEAST_DPI = 60
# A page that takes longer to draw does not get its text layer extracted too: rendering has a time limit.
_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageImage(PageFacts):
    """A rendered page. pixels: [H, W, 3] uint8 RGB, in the memory layout of ocr.imaging.planes.

    grid: (columns, rows) of its tiles, where not the pixels decide them. text_layer: the PDF's own text for it, None
    where there is none. frames: [T, H, W, 3] of a page that is a video, whose first one is pixels. timing: of these,
    where it is known.
    """

    pixels: UInt8Array
    grid: tuple[int, int] | None = None
    blank: bool = False
    render_s: float = 0.0
    text_layer: str | None = None
    frames: UInt8Array | None = None
    timing: VideoTiming | None = None

    @classmethod
    def of(
        cls, page: Page, pixels: UInt8Array, stands: Orientation, dpi: float | None, **others: Any
    ) -> "PageImage":
        """Returns a page by its pixels, upright. stands: how it stood before. others: further fields."""
        height_px, width_px, _ = pixels.shape
        return cls(
            page=page,
            width_px=width_px,
            height_px=height_px,
            dpi=dpi,
            rotation_deg=stands.angle_deg,
            runner_up_deg=stands.runner_up_deg,
            pixels=pixels,
            **others,
        )


def render(page: Page, settings: RenderSettings, tile: TileSettings, documents: OpenDocuments) -> PageImage:
    """Returns a page's pixels, upright.

    A PDF page's size at 144 dpi decides the grid. The page is rendered at the resolution that fills the grid's
    canvas, or at settings.dpi. Raises: DocumentError, PageRenderError, OSError.
    """
    start, layer = time.perf_counter(), None
    with documents.opened(page, settings.passwords) as document:
        draw = _pdf_page if page.kind == "pdf" else _picture
        drawn = draw(page, document, settings, tile)
        if drawn.blank and drawn.missing:
            raise PageRenderError("unreadable", drawn.missing)
        if page.kind == "pdf" and drawn.blank:
            _check_blank(document, page.page_index, drawn.dpi)
        elif page.kind == "pdf" and time.perf_counter() - start < _PATIENCE_S:
            layer = read_text(document, page.page_index) or None
    return replace(drawn, render_s=time.perf_counter() - start, text_layer=layer)


def _pdf_page(page: Page, document: Any, settings: RenderSettings, tile: TileSettings) -> PageImage:
    index = page.page_index
    stands = orientation.declared(document, index, settings)
    drawn_deg = 0 if stands is None else stands.angle_deg
    pixels, dpi, grid = pdf.render_pdf_page(document, index, settings, tile, drawn_deg)
    blank = is_blank(pixels)
    if stands is None:
        stands = orientation.seen(pixels, settings, blank=blank)
        if stands.angle_deg:  # drawn anew: on its side it fills another canvas
            pixels, dpi, grid = pdf.render_pdf_page(document, index, settings, tile, stands.angle_deg)
    missing = page_losses.missing_message(document, index)
    return PageImage.of(page, pixels, stands, dpi, missing=missing, grid=grid, blank=blank)


def _picture(page: Page, document: Any, settings: RenderSettings, tile: TileSettings) -> PageImage:
    """Returns an image's frame or a video's first one; with a maker of views all that this shows of a video."""
    frames, timing, dpi, max_px = None, None, None, settings.max_image_pixels
    if page.kind == "video":
        shown = take(document, tile.video, max_px)
        pixels, missing, timing = shown.frames[0], document.missing, shown.timing
        frames = None if tile.video is None else shown.frames
    else:
        most_frames = 0 if tile.video is None else tile.video.most_frames
        pixels, dpi, frames, missing = image_losses.drawn(
            page.path, document, page.page_index, max_px, most_frames
        )
    if frames is None:
        return upright(page, pixels, settings, dpi, missing=missing)
    # Frames may stand in any way, and are read together as they are.
    blank = all(map(is_blank, frames))
    return PageImage.of(
        page, pixels, Orientation(), None, missing=missing, blank=blank, frames=frames, timing=timing
    )


def upright(
    page: Page, pixels: UInt8Array, settings: RenderSettings, dpi: float | None, **others: Any
) -> PageImage:
    """Returns a picture of a page, turned upright by what it shows. others: further fields."""
    blank = is_blank(pixels)
    stands = orientation.seen(pixels, settings, blank=blank)
    if stands.angle_deg:
        pixels = planes.turned(pixels, -stands.angle_deg // 90)
    return PageImage.of(page, pixels, stands, dpi, blank=blank, **others)


def _check_blank(document: Any, index: int, dpi: float | None) -> None:
    """Raises PageRenderError where a page of a PDF only looks blank. dpi: at which it was drawn."""
    if pdf.shows_text(document, index) or (
        dpi is not None and dpi < _LEAST_DPI and pdf.drawn(document, index)
    ):
        # Neither blank nor readable: given such a page, the model invents text.
        raise PageRenderError("illegible", "its print is too small to be seen at this size; raise render.dpi")
    if document.is_repaired:
        # The lost content may have been on this page; calling the page blank would hide that.
        raise PageRenderError("broken", "the file is damaged, and nothing of this page could be recovered")
    if reason := page_losses.blank_reason(document, index):
        raise PageRenderError("unreadable", reason)


def tile(image: PageImage, settings: TileSettings) -> RenderedPage:
    """Returns a page with its views."""
    start = time.perf_counter()
    colour = None
    if settings.lines:
        page_views, grey = PageViews(), None if image.blank else _grey(image.pixels, MAX_GREY_PX)
        colour = None if image.blank else colour_contrast(image.pixels)
    elif image.frames is not None and settings.video is not None:
        page_views, grey = settings.video(image.frames, image.timing), None
    elif settings.views is not None:
        page_views, grey = settings.views(image.pixels), None
    else:
        page_views, grey = views(image.pixels, settings.mode, settings.max_tiles, image.grid), None
    wants_words = (
        settings.words == "lines" and not settings.lines and not image.blank and image.frames is None
    )
    return RenderedPage(
        **facts_of(image, PageFacts),
        views=page_views,
        blank=image.blank,
        seconds={"render": image.render_s, "tile": time.perf_counter() - start},
        text_layer=image.text_layer,
        grey=grey,
        colour=None if colour is None else _reduced(Image.fromarray(colour), MAX_GREY_PX),
        ink=_grey(image.pixels, MAX_INK_PX) if wants_words else None,
    )


def _grey(pixels: UInt8Array, most_px: int) -> UInt8Array:
    """Returns a page [H, W, 3] as [H, W], reduced where it has more pixels than the line reader needs."""
    picture = planes.picture_of(pixels)
    return _reduced(picture if picture.mode == "L" else picture.convert("L"), most_px)


def _reduced(grey: Image.Image, most_px: int) -> UInt8Array:
    factor = math.sqrt(most_px / (grey.width * grey.height))
    if factor < 1:
        size = max(1, round(grey.width * factor)), max(1, round(grey.height * factor))
        grey = grey.resize(size, Image.Resampling.BOX)
    return np.asarray(grey)
