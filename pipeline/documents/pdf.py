"""Opens PDF files with MuPDF, renders their pages to RGB pixels, and walks the text of a page."""

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pymupdf

from encoders.views import UInt8Array
from ocr.imaging import planes
from ocr.imaging.tiling import layout
from pipeline.documents import file_access
from pipeline.documents.damage import complaints
from pipeline.documents.failures import DocumentError, PageRenderError
from pipeline.documents.settings import VIEWS_DPI, RenderSettings, TileSettings

LAYOUT_DPI = 144
POINTS_PER_INCH = 72
# For the line reader, which learned from pages at 100 to 300 dpi.
_LINES_DPI = 200
# Pages smaller than this, a postcard's side, may be scans to which a program gave too high a resolution: a picture that
# fills at least this share of the page is drawn with its own pixels, up to so many from corner to corner.
_SMALL_PT, _FILLED_SHARE, _MOST_PICTURE_PX = 300, 0.5, 4000
# A canvas is a few megapixels; only a page narrower than any paper needs more to fill it.
_MAX_FILL_PX = 32_000_000
# The text rendering mode of the text that OCR programs put under a scan.
_INVISIBLE = 3
# MuPDF rounds a page's edge down to the pixel within this much.
_ROUNDING = 0.001
_ERRORS = (pymupdf.mupdf.FzErrorBase, RuntimeError, ValueError)

# Damaged files are reported through their rows, not on the terminal.
pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)


def open_pdf(path: str, passwords: Sequence[str] = ()) -> Any:
    """Opens a document, gzipped or not, if need be with a password. Raises: DocumentError, OSError."""
    # Opened here too, as MuPDF does not distinguish a missing file from a damaged one.
    with file_access.utf8_name(path) as name:
        with open(path, "rb") as file:
            is_packed = file.read(len(file_access.GZIP_MAGIC)) == file_access.GZIP_MAGIC
            file.seek(0)
            data = file_access.unpacked(file) if is_packed else None
        try:
            document = pymupdf.open(name if data is None else None, data, filetype="pdf")
        except _ERRORS:
            raise DocumentError("broken", "not a readable PDF: damaged beyond repair") from None
    if document.needs_pass:
        with contextlib.suppress(*_ERRORS):  # damaged encryption: no password can be checked
            if any(document.authenticate(password) for password in passwords):
                return document
        document.close()
        raise DocumentError("encrypted", _locked_message(len(passwords)))
    return document


def _locked_message(num_tried: int) -> str:
    if not num_tried:
        return "needs a password: ingest.password_env or ingest.password_file gives it one; or save a copy without"
    tried = (
        "the password given does not open it" if num_tried == 1 else f"none of {num_tried} passwords opens it"
    )
    return f"{tried}; add the right one to ingest.password_file, or save a copy without"


def count_pages(document: Any) -> int:
    """Returns the number of pages. Raises: DocumentError."""
    try:
        num_pages = int(document.page_count)
    except _ERRORS as error:
        raise DocumentError("broken", f"the list of pages is damaged: {error}") from None
    if num_pages < 1:
        raise DocumentError(
            "broken", "no pages can be found in it; a viewer that repairs PDFs may save a copy"
        )
    return num_pages


def render_pdf_page(
    document: Any, index: int, settings: RenderSettings, tile: TileSettings, angle_deg: int = 0
) -> tuple[UInt8Array, float, tuple[int, int]]:
    """Returns a page's pixels [H, W, 3] uint8 RGB on white, their dpi, and the grid of tiles.

    Applies rotation and crop box, and draws annotations. angle_deg: see `turned`. Raises: PageRenderError.
    """
    with turned(document, index, angle_deg):
        return _rendered(document, index, settings, tile)


def _rendered(
    document: Any, index: int, settings: RenderSettings, tile: TileSettings
) -> tuple[UInt8Array, float, tuple[int, int]]:
    width_pt, height_pt = size_pt(document, index)
    to_px = LAYOUT_DPI / POINTS_PER_INCH
    plan = layout(_px(width_pt * to_px), _px(height_pt * to_px), tile.mode, tile.max_tiles)
    if settings.dpi is None:
        filling, most_px = plan.scale(width_pt, height_pt), _MAX_FILL_PX
        if tile.lines:
            filling = max(_LINES_DPI / POINTS_PER_INCH, _picture_scale(document, index, width_pt, height_pt))
        elif tile.views is not None:
            filling, most_px = VIEWS_DPI / POINTS_PER_INCH, min(most_px, tile.views.most_px)
        scale = min(filling, math.sqrt(most_px / (width_pt * height_pt)))
    else:
        scale = settings.dpi / POINTS_PER_INCH
        if (num_px := width_pt * height_pt * scale**2) > settings.max_image_pixels:
            raise PageRenderError(
                "oversized",
                f"at {settings.dpi:g} dpi the page is {num_px / 1e6:.0f} megapixels, over the limit "
                f"of {settings.max_image_pixels / 1e6:.0f}; lower render.dpi",
            )
    # For this process, until it is set anew: hairlines, with which office programs rule tables, as viewers draw them.
    pymupdf.TOOLS.set_graphics_min_line_width(1.0 if tile.lines else 0.0)
    with _as_page_errors():
        pixmap = document.load_page(index).get_pixmap(
            matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csRGB, alpha=False, annots=True
        )
        # Rows may be padded. Pillow's pictures have four bytes a pixel: to make one takes longer than drawing.
        rows = np.frombuffer(pixmap.samples_mv, np.uint8).reshape(pixmap.height, pixmap.stride)
        pixels = rows[:, : 3 * pixmap.width].reshape(pixmap.height, pixmap.width, 3)
        channels = pixels[None, ..., 0] if planes.is_grey(pixels) else pixels.transpose(2, 0, 1)
        return planes.of_planes(np.array(channels, order="C")), scale * POINTS_PER_INCH, plan.grid


def _picture_scale(document: Any, index: int, width_pt: float, height_pt: float) -> float:
    """Returns the pixels per point of a picture that fills a page smaller than any paper, to which it was scaled down.

    0 where there is none. Raises: PageRenderError.
    """
    if max(width_pt, height_pt) > _SMALL_PT:
        return 0.0
    with _as_page_errors():
        pictures = document.load_page(index).get_image_info()
    area = width_pt * height_pt * _FILLED_SHARE
    filling = [picture for picture in pictures if abs(pymupdf.Rect(picture["bbox"])) >= area]
    most = max((math.hypot(one["width"], one["height"]) for one in filling), default=0.0)
    return min(most, _MOST_PICTURE_PX) / math.hypot(width_pt, height_pt)


def size_pt(document: Any, index: int) -> tuple[float, float]:
    """Returns a page's width and height in points, as it stands. Raises: PageRenderError."""
    with _as_page_errors():
        rect = document.load_page(index).rect
        width_pt, height_pt = float(rect.width), float(rect.height)
    if not (0 < width_pt < math.inf and 0 < height_pt < math.inf):
        raise PageRenderError("broken", f"the page is {width_pt:g} x {height_pt:g} points")
    return width_pt, height_pt


def drawn(document: Any, index: int) -> list[tuple[str, Any]]:
    """Returns the page's drawing operations in order: MuPDF's name ("fill-text", "fill-image", ...) and box of each."""
    try:
        with _as_page_errors():
            return list(document.load_page(index).get_bboxlog())
    finally:
        complaints.forget()  # MuPDF would keep every warning about a damaged file


@contextlib.contextmanager
def turned(document: Any, index: int, angle_deg: int) -> Iterator[None]:
    """Rotates the page clockwise within the block, with its text and boxes. The file stays unchanged.

    angle_deg: 0, 90, 180 or 270. Raises: PageRenderError.
    """
    if not angle_deg:
        yield
        return
    with _as_page_errors():
        page = document.load_page(index)
        before = int(page.rotation)
        page.set_rotation((before + angle_deg) % 360)
    try:
        yield
    finally:
        with _as_page_errors():
            page.set_rotation(before)


def shows_text(document: Any, index: int) -> bool:
    """Returns whether the page draws letters or digits that are neither invisible nor white.

    A page whose pixels look blank may still hold print too small to show. A lone full stop, put there so that an empty
    page is not dropped, does not count. Raises: PageRenderError.
    """
    with _as_page_errors():
        spans = document.load_page(index).get_texttrace()
    return any(
        span["type"] != _INVISIBLE
        and min(span["color"]) < 1
        and any(chr(c[0]).isalnum() for c in span["chars"])
        for span in spans
    )


def _px(length: float) -> int:
    return max(1, math.ceil(length - _ROUNDING))


@contextlib.contextmanager
def _as_page_errors() -> Iterator[None]:
    try:
        yield
    except _ERRORS as error:
        if isinstance(error, pymupdf.mupdf.FzErrorSystem) and "malloc" in str(error):
            raise MemoryError(str(error)) from None
        raise PageRenderError("broken", f"the page cannot be rendered: {error}") from None


# PRESERVE_WHITESPACE: tabs and wide spaces stay what they are, and make columns. MEDIABOX_CLIP: text off the page is
# not on it. Without CID_FOR_UNKNOWN_UNICODE a character that maps to no letter is U+FFFD.
_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
_DRAWN = 16 | 32  # FZ_STEXT_FILLED, FZ_STEXT_STROKED: not set for invisible text (text rendering mode 3)


def open_text(display: Any, *, codes_for_unmapped: bool = False) -> Any:
    """Returns the pymupdf TextPage of a page, in points of the page as shown. display: its DisplayList.

    codes_for_unmapped: characters that map to no letter are their codes in the typeface, often the right letters:
    good enough to tell a script. Text that is taken as it is needs U+FFFD, by which it is distrusted.
    Raises: whatever MuPDF does.
    """
    unmapped = pymupdf.TEXT_CID_FOR_UNKNOWN_UNICODE if codes_for_unmapped else 0
    return pymupdf.TextPage(display.get_textpage(_FLAGS | unmapped))


def text_spans(text: Any, *, with_chars: bool = False) -> Iterator[tuple[Any, Any]]:
    """Yields each span of a TextPage with its line, as MuPDF's dictionaries, in the order of the page's content.

    with_chars: a span has "chars", each with its box, instead of "text". That takes three times as long.
    """
    found = text.extractRAWDICT() if with_chars else text.extractDICT()
    for block in found["blocks"]:
        for line in block.get("lines", ()):
            for span in line["spans"]:
                yield line, span


def is_drawn(span: Any) -> bool:
    """Returns whether a span's rendering mode leaves a mark."""
    return bool(span["char_flags"] & _DRAWN)
