"""Determines which way up a page is to be read. Runs in workers; never imports torch.

What a file itself declares (EXIF, /Rotate) has been applied before. This is about what the page shows: a sheet that was
scanned on its side or upside down, or a wide table set sideways on an upright page. Where a PDF draws its text as text,
the direction of its lines tells; elsewhere the pixels do (ocr.orientation).
"""

import logging
from collections import Counter
from dataclasses import replace
from typing import Any

import pymupdf

from encoders.views import UInt8Array
from ocr.orientation.detect import Angle, Orientation, detect
from pipeline.documents.pdf import is_drawn, open_text, text_spans
from pipeline.documents.settings import RenderSettings

LOGGER = logging.getLogger("ocrbatch")
# Fewer characters are a stamp on a scan, or a label in a drawing.
_MIN_CHARS = 20
# With this many characters the text is the page; with fewer, a picture that covers the page is.
_MANY_CHARS = 400
_COVERS = 0.5
# The share of a page's characters that must run sideways, or upside down, for the page to be rotated.
_SHARE = 2 / 3
_AXIS = 0.99


def declared(document: Any, index: int, settings: RenderSettings) -> Orientation | None:
    """Returns the orientation of a PDF page by its visible text, or none if switched off; None: its pixels must decide.

    MuPDF's warnings count for the page: a font that it loads here is not loaded again for drawing.
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
    """Returns a page's orientation by its pixels: with "runner_up" the second choice, if there is one.

    pixels: [H, W, 3] uint8.
    """
    found = Orientation() if blank or settings.orientation == "off" else detect(pixels)
    if settings.orientation == "runner_up" and found.runner_up_deg is not None:
        return replace(found, angle_deg=found.runner_up_deg)
    return found


def angle_of(x: float, y: float) -> Angle | None:
    """Returns the clockwise rotation for text running towards (x, y), y downwards; None if slanted like a watermark."""
    if x > _AXIS:
        return 0
    if y < -_AXIS:
        return 90
    if x < -_AXIS:
        return 180
    return 270 if y > _AXIS else None


def _directions(page: Any) -> Counter[Angle]:
    """Returns how many visible characters each rotation makes upright."""
    counts: Counter[Angle] = Counter()
    for line, span in text_spans(open_text(page.get_displaylist())):
        num_chars = len("".join(span["text"].split())) if is_drawn(span) else 0
        # Vertical lines, as in Japanese, are upright.
        angle = 0 if line["wmode"] else angle_of(*line["dir"])
        if num_chars and angle is not None:
            counts[angle] += num_chars
    return counts


def _is_a_picture(page: Any) -> bool:
    """Returns whether a picture covers much of the page, as on a scan with a few words stamped on it."""
    whole = page.rect
    return any(
        abs(pymupdf.Rect(image["bbox"]) & whole) > _COVERS * abs(whole) for image in page.get_image_info()
    )
