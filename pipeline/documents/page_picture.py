"""Draws a page for people to look at: upright, as large as a screen needs. Runs in workers; never imports torch."""

import io
import os
from dataclasses import dataclass, replace
from typing import Any

from PIL import Image

from encoders.views import UInt8Array
from ocr.imaging import planes
from pipeline.documents import images, pdf
from pipeline.documents.damage.content import stamp_of
from pipeline.documents.damage.failures import PageRenderError
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.documents.videos.showing import take
from pipeline.types import FileStamp, Page

# A stamp that no file has: the hash decides whether the content is what was read.
UNSEEN: FileStamp = (-1, -1, -1, -1, -1)
_QUALITY = 85


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePicture:
    """A page as a JPEG. stamp: of the file, whose content has been checked; None for a folder of frames."""

    jpeg: bytes
    stamp: FileStamp | None


def page_picture(
    page: Page, settings: RenderSettings, documents: OpenDocuments, *, rotation_deg: int, width_px: int
) -> PagePicture:
    """Returns the page, turned clockwise after what its file declares, at most width_px wide when upright.

    A page whose stamp is UNSEEN is hashed first. Raises: DocumentError, PageRenderError, OSError.
    """
    if page.kind == "video" and os.path.isdir(page.path):
        raise PageRenderError("unreadable", "frames in a folder are not drawn here")
    document = documents.get(page, settings.passwords)
    picture = planes.picture_of(_pixels(page, document, settings, rotation_deg, width_px))
    documents.check()
    if page.kind == "video" or (page.kind == "image" and images.count_frames(document) == 1):
        documents.close()  # its pixels have been turned in place
    if picture.width > width_px:
        height_px = max(1, round(picture.height * width_px / picture.width))
        picture = picture.resize((width_px, height_px), Image.Resampling.LANCZOS, reducing_gap=2.0)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=_QUALITY)
    return PagePicture(jpeg=out.getvalue(), stamp=stamp_of(os.stat(page.path)))


def _pixels(
    page: Page, document: Any, settings: RenderSettings, rotation_deg: int, width_px: int
) -> UInt8Array:
    if page.kind == "pdf":
        with pdf.turned(document, page.page_index, rotation_deg):
            width_pt, _ = pdf.size_pt(document, page.page_index)
            fitting = replace(settings, dpi=width_px / width_pt * pdf.POINTS_PER_INCH)
            return pdf.render_pdf_page(document, page.page_index, fitting, TileSettings())[0]
    if page.kind == "video":
        pixels = take(document, None, settings.max_image_pixels).frames[0]
    else:
        pixels, _ = images.read_frame(document, page.page_index, settings.max_image_pixels)
    return planes.turned(pixels, -rotation_deg // 90) if rotation_deg else pixels
