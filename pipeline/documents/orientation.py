"""Which way up a page is to be read. Runs in workers; never imports torch.

What a file itself declares (EXIF, /Rotate) has been honoured before. This is about what the page shows: a sheet that
was scanned on its side or upside down, or a wide table that is set sideways on an upright page. Where a PDF draws its
text as text, its lines say how they run; elsewhere the pixels do (ocr.orientation).
"""

import logging
from collections import Counter
from typing import Any

import pymupdf

from encoders.views import UInt8Array
from ocr.orientation.detect import Angle, Orientation, detect
from pipeline.documents.settings import RenderSettings

LOGGER = logging.getLogger("ocrbatch")
# Fewer characters are a stamp on a scan, or a label in a drawing.
_MIN_CHARS = 20
# With so many the text is the page; with fewer a picture that covers the page is.
_MANY_CHARS = 400
_COVERS = 0.5
# Of a page's characters, those that must run sideways, or upside down, for the page to be turned.
_SHARE = 2 / 3
_FLAGS = pymupdf.TEXT_MEDIABOX_CLIP
# Of a span's char_flags: filled or stroked; what is neither cannot be seen.
_VISIBLE = 16 | 32
_AXIS = 0.99


def declared(document: Any, index: int, settings: RenderSettings) -> Orientation | None:
    """Returns what a PDF page's visible text says, or that the page is not to be turned; None: look at its pixels.

    What MuPDF says meanwhile counts for the page: a font that it loads here it does not load again to draw it.
    """
    if settings.orientation == "off":
        return Orientation()
    try:
        page = document.load_page(index)
        counts = _directions(page)
        num_chars = counts.total()
        if num_chars < _MIN_CHARS or (num_chars < _MANY_CHARS and _is_a_picture(page)):
            return None
        angle, most = counts.most_common(1)[0]
        return Orientation(angle_deg=angle if most >= _SHARE * num_chars else 0)
    except Exception as error:  # C parsers raise anything, and the pixels can tell too
        LOGGER.debug("text directions of page %d: %s", index + 1, error)
        return None


def seen(pixels: UInt8Array, settings: RenderSettings, *, blank: bool) -> Orientation:
    """Returns how a page is turned from what its pixels show. pixels: [H, W, 3] uint8."""
    return Orientation() if blank or settings.orientation == "off" else detect(pixels)


def taken(found: Orientation, settings: RenderSettings) -> Angle:
    """Returns the turn that a page is read with: for the second choice, that one where there is one."""
    second = found.runner_up_deg if settings.orientation == "runner_up" else None
    return found.angle_deg if second is None else second


def _directions(page: Any) -> Counter[Angle]:
    """How many visible characters become upright by each turn."""
    counts: Counter[Angle] = Counter()
    text = pymupdf.TextPage(page.get_displaylist().get_textpage(_FLAGS))
    for block in text.extractDICT()["blocks"]:
        for line in block.get("lines", ()):
            shown = (span for span in line["spans"] if span.get("char_flags", _VISIBLE) & _VISIBLE)
            num_chars = sum(len(span["text"].replace(" ", "")) for span in shown)
            # Lines that are set downwards, as in Japanese, are upright.
            angle = 0 if line["wmode"] else _angle_of(*line["dir"])
            if num_chars and angle is not None:
                counts[angle] += num_chars
    return counts


def _angle_of(x: float, y: float) -> Angle | None:
    """The clockwise turn for text that runs towards (x, y), y downwards; None for a slant, such as a watermark's."""
    if x > _AXIS:
        return 0
    if y < -_AXIS:
        return 90
    if x < -_AXIS:
        return 180
    return 270 if y > _AXIS else None


def _is_a_picture(page: Any) -> bool:
    """Whether a picture covers much of the page, as on a scan with a few words stamped on it."""
    whole = page.rect
    return any(
        abs(pymupdf.Rect(image["bbox"]) & whole) > _COVERS * abs(whole) for image in page.get_image_info()
    )
