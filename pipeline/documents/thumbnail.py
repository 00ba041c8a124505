"""Draws a page again as a small picture, for reports. Runs in workers; never imports torch."""

import io
from dataclasses import replace
from typing import Any

from PIL import Image

from ocr.imaging import planes
from pipeline.documents import images, pdf
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.types import Page

# No file has this stamp, so that its hash decides whether it still has the content that was read.
_NO_STAMP = (0, 0, 0, 0, 0)
_QUALITY = 60


def thumbnail(
    page: Page, side_px: int, rotation_deg: int, settings: RenderSettings, documents: OpenDocuments
) -> bytes:
    """Returns the page as a JPEG file, its longer side at most side_px.

    rotation_deg: clockwise, what makes the page upright. The file is hashed first: a changed one is not drawn.
    Raises: DocumentError, PageRenderError, OSError.
    """
    document = documents.get(replace(page, stamp=_NO_STAMP), settings.passwords)
    if page.kind == "pdf":
        with pdf.turned(document, page.page_index, rotation_deg):
            pixels, _, _ = pdf.render_pdf_page(
                document,
                page.page_index,
                _at_size(document, page.page_index, side_px, settings),
                TileSettings(),
            )
    else:
        frame, _ = images.read_frame(document, page.page_index, settings.max_image_pixels)
        pixels = planes.turned(frame, -rotation_deg // 90)
    documents.check()
    picture = Image.fromarray(pixels)
    picture.thumbnail((side_px, side_px))
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=_QUALITY, optimize=True)
    return stream.getvalue()


def _at_size(document: Any, index: int, side_px: int, settings: RenderSettings) -> RenderSettings:
    """Returns the settings with the resolution that draws a page twice as large as asked, to be scaled down."""
    longer_pt = max(pdf.size_pt(document, index))
    return replace(settings, dpi=2 * side_px / longer_pt * pdf.POINTS_PER_INCH)
