"""Decodes what Pillow does not: by MuPDF JPEGs in arithmetic coding and whole ones within old TIFFs; PAM pictures.

Source for PAM (portable arbitrary maps): Netpbm's pam(5).
"""

import io
import re
from typing import cast

from PIL import Image, ImageFile

# Frame markers of arithmetic coding, which stand before the first scan. Source: ITU-T T.81, B.2.2.
_ARITHMETIC = re.compile(rb"\xff[\xc9\xca]\x00")
_SCAN = b"\xff\xda"
# Tags of a TIFF. Source: TIFF 6.0, 22.
_COMPRESSION, _OLD_JPEG, _JPEG_START, _JPEG_BYTES = 259, 6, 513, 514


def by_mupdf(image: Image.Image) -> Image.Image | None:
    """Returns the only frame of an image file that Pillow cannot decode; None where MuPDF cannot either.

    Raises: OSError.
    """
    if (data := _jpeg_of(cast(ImageFile.ImageFile, image))) is None:
        return None
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


MAGIC = b"P7\n"
_MOST_HEADER_BYTES = 4096
# (channels, greatest value) -> Pillow's mode, and how its pixels lie in the file.
_MODES = {
    (1, 1): ("P", "P"),
    (1, 255): ("L", "L"),
    (2, 255): ("LA", "LA"),
    (3, 255): ("RGB", "RGB"),
    (4, 255): ("RGBA", "RGBA"),
    (1, 65535): ("I;16", "I;16B"),
    (3, 65535): ("RGB", "RGB;16B"),
    (4, 65535): ("RGBA", "RGBA;16B"),
}


class PamImageFile(ImageFile.ImageFile):
    """A picture in the PAM format."""

    format = "PAM"
    format_description = "Portable arbitrary map"

    def _open(self) -> None:
        """Reads the header. Raises: SyntaxError."""
        assert self.fp is not None
        header, end, _ = self.fp.read(_MOST_HEADER_BYTES).partition(b"ENDHDR\n")
        lines = [line.split() for line in header.splitlines()[1:] if not line.startswith(b"#")]
        fields = {line[0]: line[1] for line in lines if len(line) > 1}
        try:
            width, height, channels, most = (
                int(fields[name]) for name in (b"WIDTH", b"HEIGHT", b"DEPTH", b"MAXVAL")
            )
            self._mode, raw_mode = _MODES[channels, most]
        except (KeyError, ValueError):
            raise SyntaxError("not a PAM header, or of a kind that is not read") from None
        if not end or width < 1 or height < 1:
            raise SyntaxError("not a PAM header")
        self._size = width, height
        if most == 1:
            self.putpalette(bytes((0, 0, 0, 255, 255, 255)))
        offset = len(header) + len(end)
        self.tile = [ImageFile._Tile("raw", (0, 0, width, height), offset, (raw_mode, 0, 1))]


def register_pam() -> None:
    """Registers the format, as often as one likes."""
    Image.register_open(PamImageFile.format, PamImageFile, lambda prefix: prefix.startswith(MAGIC))
