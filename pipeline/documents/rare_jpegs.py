"""Decodes by MuPDF the JPEGs that Pillow does not: those in arithmetic coding, and whole ones within old TIFFs."""

import io
import re
from typing import cast

from PIL import Image, ImageFile

# Frame markers of arithmetic coding, which stand before the first scan. Source: ITU-T T.81, B.2.2.
_ARITHMETIC = re.compile(rb"\xff[\xc9\xca]\x00")
_SCAN = b"\xff\xda"
# Tags of a TIFF. Source: TIFF 6.0, 22.
_COMPRESSION, _OLD_JPEG, _JPEG_START, _JPEG_BYTES = 259, 6, 513, 514


def loaded(image: Image.Image) -> Image.Image:
    """Returns the only frame of an image file with its pixels decoded, the image itself where Pillow can.

    Raises: OSError and what else Pillow's decoders raise.
    """
    try:
        image.load()
        return image
    except OSError:
        data = _jpeg_of(cast(ImageFile.ImageFile, image))
        if data is None:
            raise
        import pymupdf  # workers alone decode; a run's own process names kinds of files only

        try:
            pixmap = pymupdf.Pixmap(data)
            pixmap = pixmap if pixmap.n in (1, 3) else pymupdf.Pixmap(pymupdf.csRGB, pixmap)
        except (pymupdf.mupdf.FzErrorBase, RuntimeError, ValueError, SyntaxError) as error:
            raise OSError(str(error)) from None
    frame = Image.frombytes("L" if pixmap.n == 1 else "RGB", (pixmap.width, pixmap.height), pixmap.samples)
    frame.info = image.info
    return frame


def _jpeg_of(image: ImageFile.ImageFile) -> bytes | None:
    """Returns the JPEG data of a file that is to be decoded in another way; None for others."""
    with open(image.filename, "rb") as file:
        data = file.read()
    if image.format == "JPEG":
        return data if _ARITHMETIC.search(data, 0, data.find(_SCAN)) else None
    tags = getattr(image, "tag_v2", {})
    start = int(tags.get(_JPEG_START, 0))
    jpeg = data[start : start + int(tags.get(_JPEG_BYTES, 0))]
    if tags.get(_COMPRESSION) != _OLD_JPEG or not start or not jpeg:
        return None
    try:
        size = Image.open(io.BytesIO(jpeg), formats=("JPEG",)).size
    except OSError:
        return None
    return jpeg if size == image.size else None
