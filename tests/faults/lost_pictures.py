"""Scans whose picture cannot be decoded, or only in part, and pages that miss something else: files made here.

Each is a page of print as a scanner's software would store it, spoilt as storage, transfer or a bad program would spoil
it. What is spoilt is the data alone: the file around it is in order, so nothing but the drawing itself can tell.
"""

import io
import random
import struct
import zlib
from collections.abc import Mapping

from PIL import Image, ImageDraw, ImageFont

from tests.faults.hostile_pdfs import pdf, stream

WIDTH_PX, HEIGHT_PX = 1240, 1754  # A4 at 150 dpi
_LINES = (
    "The harbour office keeps a ledger of every ship",
    "that entered in the year of the great flood. Its",
    "pages were copied twice, and one copy was sent to",
    "the town of Nienburg, where it can be seen today.",
    "Of the other nothing is known but its last page.",
)


def scan() -> Image.Image:
    """A page of print, grey, with a little grain."""
    page = Image.new("L", (WIDTH_PX, HEIGHT_PX), 250)
    draw = ImageDraw.Draw(page)
    font = ImageFont.load_default(38)
    for number in range(25):
        draw.text((130, 140 + 58 * number), _LINES[number % len(_LINES)], font=font, fill=25)
    return page


def rotten(data: bytes, seed: int = 0, *, keep: int = 0) -> bytes:
    """The data with its bytes from number keep on replaced by others."""
    chance = random.Random(seed)
    return data[:keep] + chance.randbytes(len(data) - keep)


def zeroed(data: bytes, *, keep: int = 0) -> bytes:
    """What a file system leaves of a file whose blocks were never written."""
    return data[:keep] + bytes(len(data) - keep)


def jpeg() -> bytes:
    return _saved(scan(), "JPEG", quality=60)


def jpx() -> bytes:
    return _saved(scan(), "JPEG2000", quality_mode="rates", quality_layers=[20])


def lzw() -> bytes:
    return _strip(scan(), "tiff_lzw")


def fax() -> bytes:
    """CCITT group 4; 0 is black."""
    return _strip(scan().convert("1", dither=Image.Dither.NONE), "group4")


def jbig2() -> bytes:
    """An embedded JBIG2 stream of a page and one generic region, coded as group 4. Source: ITU-T T.88, 7.4.6, 7.4.8."""
    size = struct.pack(">II", WIDTH_PX, HEIGHT_PX)
    page = size + struct.pack(">IIBH", 0, 0, 0, 0)
    region = size + struct.pack(">IIB", 0, 0, 0) + b"\x01" + fax()
    return b"".join(
        struct.pack(">IBBBI", number, kind, 0, 1, len(data)) + data
        for number, (kind, data) in enumerate(((48, page), (38, region)))
    )


def picture_page(
    data: bytes | None, filter_: bytes, colours: bytes = b"/ColorSpace /DeviceGray /BitsPerComponent 8",
    *, content: bytes | None = b"q 595 0 0 842 0 0 cm /Im0 Do Q", words: bytes = b"", more: Mapping[int, bytes] | None = None,
) -> bytes:
    """A PDF of one page that shows a picture. data, content: None leaves the object away. words: drawn as text."""
    extra = b"/Type /XObject /Subtype /Image /Width %d /Height %d %s /Filter %s" % (WIDTH_PX, HEIGHT_PX, colours, filter_)
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> /XObject << /Im0 6 0 R >> >> >>",
        5: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        7: b"null",
    }
    if content is not None:
        shown = content if not words else content + b" BT /F1 14 Tf 60 800 Td (%s) Tj ET" % words
        objects[4] = stream(shown)
    if data is not None:
        objects[6] = stream(data, extra)
    return pdf(objects | dict(more or {}))


_BILEVEL = b"/ColorSpace /DeviceGray /BitsPerComponent 1"
_G4 = b"/DecodeParms << /K -1 /Columns %d /Rows %d /BlackIs1 false >>" % (WIDTH_PX, HEIGHT_PX)


def sound() -> dict[str, bytes]:
    """The same pages unspoilt."""
    flate = zlib.compress(scan().tobytes())
    return {
        "jpeg": picture_page(jpeg(), b"/DCTDecode"),
        "jpx": picture_page(jpx(), b"/JPXDecode"),
        "flate": picture_page(flate, b"/FlateDecode"),
        "lzw": picture_page(lzw(), b"/LZWDecode"),
        "jbig2": picture_page(jbig2(), b"/JBIG2Decode", _BILEVEL),
        "ccitt": picture_page(fax(), b"/CCITTFaxDecode " + _G4, _BILEVEL),
    }


def lost() -> dict[str, bytes]:
    """Name -> PDF of one page of which nothing can be seen: the twelve kinds."""
    flate = zlib.compress(scan().tobytes())
    return {
        "jpeg-rotten": picture_page(rotten(jpeg()), b"/DCTDecode"),
        "jpeg-zeroed": picture_page(zeroed(jpeg()), b"/DCTDecode"),
        "jpeg-cut": picture_page(jpeg()[:400], b"/DCTDecode"),
        "jpx-rotten": picture_page(rotten(jpx()), b"/JPXDecode"),
        "flate-rotten": picture_page(rotten(flate), b"/FlateDecode"),
        "lzw-rotten": picture_page(rotten(lzw()), b"/LZWDecode"),
        "jbig2-rotten": picture_page(rotten(jbig2()), b"/JBIG2Decode", _BILEVEL),
        "ccitt-rotten": picture_page(rotten(fax()), b"/CCITTFaxDecode " + _G4, _BILEVEL),
        "filter-unknown": picture_page(flate, b"/BrotliDecode"),
        "image-missing": picture_page(None, b""),
        "contents-missing": picture_page(jpeg(), b"/DCTDecode", content=None),
    }


def _saved(image: Image.Image, form: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def _strip(image: Image.Image, compression: str) -> bytes:
    """The data of a TIFF of one strip: what PDF stores is the same."""
    data = _saved(image, "TIFF", compression=compression, tiffinfo={278: image.height})
    with Image.open(io.BytesIO(data)) as tiff:
        (start,), (length,) = tiff.tag_v2[273], tiff.tag_v2[279]
    return data[start : start + length]
