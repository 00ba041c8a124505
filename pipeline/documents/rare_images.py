"""Decodes what Pillow does not by itself: whole JPEGs within old TIFFs, and PAM pictures.

Source for PAM (portable arbitrary maps): Netpbm's pam(5).
"""

import io
from typing import cast

from PIL import Image, ImageFile

# Tags of a TIFF. Source: TIFF 6.0, 22.
_COMPRESSION, _OLD_JPEG, _JPEG_START, _JPEG_BYTES = 259, 6, 513, 514


def old_jpeg(image: Image.Image) -> Image.Image | None:
    """Returns the frame of a TIFF of the sixth kind that is a whole JPEG within it; None for others.

    Raises: OSError.
    """
    tags = getattr(image, "tag_v2", {})
    start = int(tags.get(_JPEG_START, 0))
    if tags.get(_COMPRESSION) != _OLD_JPEG or not start:
        return None
    with open(cast(ImageFile.ImageFile, image).filename, "rb") as file:
        file.seek(start)
        jpeg = io.BytesIO(file.read(int(tags.get(_JPEG_BYTES, 0))))
    with Image.open(jpeg, formats=("JPEG",)) as opened:
        frame = opened.copy()
    frame.info = image.info
    return frame if frame.size == image.size else None


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
