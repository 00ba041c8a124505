"""Draws a page, or the figures on it, for people to look at: upright. Runs in workers; never imports torch."""

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from PIL import Image

from encoders.views import UInt8Array
from ocr.imaging import planes
from pipeline.documents import images, pdf, sniff
from pipeline.documents.failures import PageRenderError
from pipeline.documents.file_access import stamp_of
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.documents.videos.showing import take
from pipeline.types import FileStamp, Page

# A stamp that no file has: the hash decides whether the content is what was read.
UNSEEN: FileStamp = (-1, -1, -1, -1, -1)
# JPEG has no larger pictures.
_MOST_PX = 65_000
# Small print of a PDF is drawn twice as large and scaled down, which reads better than MuPDF's own smallest.
_SMALL_PX = 400
_FIGURE_DPI, _FIGURE_QUALITY = 200, 90
# A figure larger than any screen is scaled down.
_FIGURE_PX = 2400

Box = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a page is drawn: at most so wide and high when upright, as a JPEG of this quality."""

    width_px: int = _MOST_PX
    height_px: int = _MOST_PX
    quality: int = 85


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePicture:
    """A page as a JPEG. stamp: of the file, whose content has been checked; None for a folder of frames."""

    jpeg: bytes
    stamp: FileStamp | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FigurePlaces:
    """Where figures are on a page. boxes: in pixels of the page as it was read, upright.

    width_px, height_px: of that. rotation_deg: how far the page was turned clockwise to be upright.
    """

    boxes: Sequence[Box]
    width_px: int
    height_px: int
    rotation_deg: int


def page_picture(
    page: Page, settings: RenderSettings, documents: OpenDocuments, *, rotation_deg: int, look: Look
) -> PagePicture:
    """Returns the page, turned clockwise after what its file declares.

    A page whose stamp is UNSEEN is hashed first. Raises: DocumentError, PageRenderError, OSError.
    """
    picture = _drawn(page, settings, documents, rotation_deg, look)
    jpeg = _jpeg(picture, (look.width_px, look.height_px), look.quality)
    return PagePicture(jpeg=jpeg, stamp=stamp_of(os.stat(page.path)))


def page_figures(
    page: Page, settings: RenderSettings, documents: OpenDocuments, places: FigurePlaces
) -> list[bytes]:
    """Returns the page's figures as JPEG files, a PDF's drawn at 200 dpi; a box without area gives an empty file.

    page: its kind is found anew. A page whose stamp is UNSEEN is hashed first. Raises: DocumentError, PageRenderError,
    OSError.
    """
    with open(page.path, "rb") as file:
        form = sniff.by_content(file.read(sniff.HEAD_BYTES), page.path)
    if form is None:
        raise PageRenderError("unreadable", "no figures are cut out of videos")
    page = replace(page, kind="pdf" if form == "PDF" else "image")
    picture = _drawn(page, settings, documents, places.rotation_deg, None)
    across, down = picture.width / places.width_px, picture.height / places.height_px
    return [_figure(picture, box, across, down) for box in places.boxes]


def _figure(picture: Image.Image, box: Box, across: float, down: float) -> bytes:
    x0, y0, x1, y1 = box
    left, upper = max(0, round(x0 * across)), max(0, round(y0 * down))
    right, lower = min(picture.width, round(x1 * across)), min(picture.height, round(y1 * down))
    if left >= right or upper >= lower:
        return b""
    return _jpeg(picture.crop((left, upper, right, lower)), (_FIGURE_PX, _FIGURE_PX), _FIGURE_QUALITY)


def _drawn(
    page: Page, settings: RenderSettings, documents: OpenDocuments, rotation_deg: int, look: Look | None
) -> Image.Image:
    """Returns the page upright. look: how large a PDF's is drawn at least; None for as large as figures are cut of."""
    if page.kind == "video" and os.path.isdir(page.path):
        raise PageRenderError("unreadable", "frames in a folder are not drawn here")
    with documents.opened(page, settings.passwords) as document:
        return planes.picture_of(_pixels(page, document, settings, rotation_deg, look))


def _pixels(
    page: Page, document: Any, settings: RenderSettings, rotation_deg: int, look: Look | None
) -> UInt8Array:
    if page.kind == "pdf":
        with pdf.turned(document, page.page_index, rotation_deg):
            drawn = replace(settings, dpi=_dpi(document, page, look))
            return pdf.render_pdf_page(document, page.page_index, drawn, TileSettings())[0]
    if page.kind == "video":
        pixels = take(document, None, settings.max_image_pixels).frames[0]
    else:
        pixels, _ = images.read_frame(document, page.page_index, settings.max_image_pixels)
    return planes.turned(pixels, -rotation_deg // 90) if rotation_deg else pixels


def _dpi(document: Any, page: Page, look: Look | None) -> float:
    """Returns the resolution for a look; None: that of a print, less where the page is larger than any paper."""
    width_pt, height_pt = pdf.size_pt(document, page.page_index)
    if look is None:
        return min(_FIGURE_DPI, 3 * _FIGURE_PX / max(width_pt, height_pt) * pdf.POINTS_PER_INCH)
    scale = min(look.width_px / width_pt, look.height_px / height_pt)
    if scale * max(width_pt, height_pt) <= _SMALL_PX:
        scale *= 2
    return scale * pdf.POINTS_PER_INCH


def _jpeg(picture: Image.Image, most_px: tuple[int, int], quality: int) -> bytes:
    """Returns a picture, scaled down if need be. most_px: width and height."""
    picture.thumbnail(most_px, Image.Resampling.LANCZOS)
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=quality, optimize=True)
    return out.getvalue()
