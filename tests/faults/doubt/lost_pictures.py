"""Scans whose picture cannot be decoded, or only in part, and pages that lack something else.

`python -m tests.faults.statuses make DIR --kinds lost_picture` writes them.

Each is a page of print as a scanner's software would store it, spoilt as storage, transfer or a bad program would spoil
it. Only the data is spoilt: the file around it is in order, so only drawing it can show the loss. Most are PDFs;
picture files are spoilt as disks spoil them: cut, with blocks of zeros, or with other bytes if their format
or a checksum shows it. (Other bytes in a bitmap or in WebP data are another picture, and nothing shows it: left out.)
"""

import io
import random
import struct
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from tests.faults.files.hostile_pdfs import pdf, stream
from tests.faults.statuses.pages import MadePage, Workshop

WIDTH_PX, HEIGHT_PX = 1240, 1754  # A4 at 150 dpi
_LINES = (
    "The harbour office keeps a ledger of every ship",
    "that entered in the year of the great flood. Its",
    "pages were copied twice, and one copy was sent to",
    "the town of Nienburg, where it can be seen today.",
    "Of the other nothing is known but its last page.",
)


@cache
def scan() -> Image.Image:
    """Returns a page of print, grey, with a little grain."""
    page = Image.new("L", (WIDTH_PX, HEIGHT_PX), 250)
    draw = ImageDraw.Draw(page)
    font = ImageFont.load_default(38)
    for number in range(25):
        draw.text((130, 140 + 58 * number), _LINES[number % len(_LINES)], font=font, fill=25)
    return page


def rotten(data: bytes, seed: int = 0, *, keep: int = 0) -> bytes:
    """Returns the data with its bytes from offset `keep` on replaced by others."""
    chance = random.Random(seed)
    return data[:keep] + chance.randbytes(len(data) - keep)


def zeroed(data: bytes, *, keep: int = 0) -> bytes:
    """Returns what a file system leaves of a file whose blocks were never written."""
    return data[:keep] + bytes(len(data) - keep)


@cache
def jpeg() -> bytes:
    return saved(scan(), "JPEG", quality=60)


@cache
def jpx() -> bytes:
    return saved(scan(), "JPEG2000", quality_mode="rates", quality_layers=[20])


@cache
def lzw() -> bytes:
    return strip(scan(), "tiff_lzw")


@cache
def fax() -> bytes:
    """Returns the scan as CCITT group 4; 0 is black."""
    return strip(scan().convert("1", dither=Image.Dither.NONE), "group4")


def jbig2(lines: bytes | None = None) -> bytes:
    """Returns an embedded JBIG2 stream of a page and one generic region that claims all its lines.

    lines: of it, coded as group 4; by default the scan's.

    Source: ITU-T T.88, 7.4.6, 7.4.8.
    """
    size = struct.pack(">II", WIDTH_PX, HEIGHT_PX)
    page = size + struct.pack(">IIBH", 0, 0, 0, 0)
    region = size + struct.pack(">IIB", 0, 0, 0) + b"\x01" + (lines or fax())
    return b"".join(
        struct.pack(">IBBBI", number, kind, 0, 1, len(data)) + data
        for number, (kind, data) in enumerate(((48, page), (38, region)))
    )


def picture_page(
    data: bytes | None,
    filter_: bytes,
    colours: bytes = b"/ColorSpace /DeviceGray /BitsPerComponent 8",
    *,
    content: bytes | None = b"q 595 0 0 842 0 0 cm /Im0 Do Q",
    words: bytes = b"",
) -> bytes:
    """Returns a PDF of one page that shows a picture. data, content: None omits the object. words: drawn as text."""
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> /XObject << /Im0 6 0 R >> >> >>",
        5: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        7: b"null",
    }
    if content is not None:
        objects[4] = stream(content + (b" BT 1 g /F1 30 Tf 60 400 Td (%s) Tj ET" % words if words else b""))
    if data is not None:
        form = b"/Type /XObject /Subtype /Image /Width %d /Height %d" % (WIDTH_PX, HEIGHT_PX)
        objects[6] = stream(data, b"%s %s /Filter %s" % (form, colours, filter_))
    return pdf(objects)


BILEVEL = b"/ColorSpace /DeviceGray /BitsPerComponent 1"
G4 = b"/DecodeParms << /K -1 /Columns %d /Rows %d /BlackIs1 false >>" % (WIDTH_PX, HEIGHT_PX)


@cache
def sound() -> dict[str, bytes]:
    """Returns the same pages unspoilt."""
    flate = zlib.compress(scan().tobytes())
    return {
        "jpeg": picture_page(jpeg(), b"/DCTDecode"),
        "jpx": picture_page(jpx(), b"/JPXDecode"),
        "flate": picture_page(flate, b"/FlateDecode"),
        "lzw": picture_page(lzw(), b"/LZWDecode"),
        "jbig2": picture_page(jbig2(), b"/JBIG2Decode", BILEVEL),
        "ccitt": picture_page(fax(), b"/CCITTFaxDecode " + G4, BILEVEL),
    }


@cache
def lost() -> dict[str, bytes]:
    """Returns name -> PDF of one page of which nothing can be seen: the twelve kinds."""
    flate = zlib.compress(scan().tobytes())
    return {
        "jpeg-rotten": picture_page(rotten(jpeg()), b"/DCTDecode"),
        "jpeg-zeroed": picture_page(zeroed(jpeg()), b"/DCTDecode"),
        "jpeg-cut": picture_page(jpeg()[:400], b"/DCTDecode"),
        "jpx-rotten": picture_page(rotten(jpx()), b"/JPXDecode"),
        "flate-rotten": picture_page(rotten(flate), b"/FlateDecode"),
        "lzw-rotten": picture_page(rotten(lzw()), b"/LZWDecode"),
        "jbig2-rotten": picture_page(rotten(jbig2()), b"/JBIG2Decode", BILEVEL),
        "jbig2-cut": picture_page(jbig2()[: len(jbig2()) // 2], b"/JBIG2Decode", BILEVEL),
        "ccitt-rotten": picture_page(rotten(fax()), b"/CCITTFaxDecode " + G4, BILEVEL),
        "filter-unknown": picture_page(flate, b"/BrotliDecode"),
        "image-missing": picture_page(None, b""),
        "contents-missing": picture_page(jpeg(), b"/DCTDecode", content=None),
        "contents-zeroed": picture_page(jpeg(), b"/DCTDecode", content=bytes(60)),
    }


@cache
def in_part() -> dict[str, bytes]:
    """Returns name -> PDF of one page of which half can be read, even some that no decoder complains about."""
    flate = zlib.compress(scan().tobytes())
    half = len(jpeg()) // 2
    return {
        "jpeg-half": picture_page(jpeg()[:half], b"/DCTDecode"),
        "jpeg-hole": picture_page(with_hole(jpeg()), b"/DCTDecode"),
        "jpx-hole": picture_page(with_hole(jpx()), b"/JPXDecode"),
        "jpeg-half-rotten": picture_page(rotten(jpeg(), keep=half), b"/DCTDecode"),
        "jpx-half-rotten": picture_page(rotten(jpx(), keep=len(jpx()) // 2), b"/JPXDecode"),
        "flate-half": picture_page(flate[: len(flate) // 2], b"/FlateDecode"),
        "flate-zeroed-in-silence": picture_page(zeroed(flate, keep=len(flate) // 50), b"/FlateDecode"),
        "lzw-half": picture_page(lzw()[: len(lzw()) // 2], b"/LZWDecode"),
        "ccitt-half": picture_page(fax()[: len(fax()) // 2], b"/CCITTFaxDecode " + G4, BILEVEL),
        "words-on-a-lost-picture": picture_page(
            rotten(jpeg()), b"/DCTDecode", words=b"Paid on the ninth of May"
        ),
        "font-lost": _page_of_text(_broken_font()),
        "letters-lost": _page_of_text({}, font=b"/F9"),
        "content-half": _page_of_text({4: _stream_cut_in_half()}),
        "content-part-missing": _page_of_text({}, contents=b"[4 0 R 77 0 R]"),
        "form-missing": _page_of_text({}, more=b" /Fm0 Do"),
    }


# The text layers of these have all letters.
IN_LAYER = ("font-lost", "letters-lost")


@cache
def harmless() -> dict[str, bytes]:
    """Returns name -> PDF of one page with an oddity that MuPDF complains about, and that hides nothing."""
    lines = b"\n".join(_lines_of_text())
    packed = zlib.compress(lines)
    return {
        "too-many-restores": _page_of_text({}, more=b" Q Q Q"),
        "state-missing": _page_of_text({}, more=b" /GS0 gs"),
        "colour-missing": _page_of_text({}, more=b" /CS0 cs"),
        "unknown-word": _page_of_text({}, more=b" foo"),
        "wrong-length": _page_of_text({4: b"<< /Length 5 >>\nstream\n" + lines + b"\nendstream"}),
        "no-checksum": _page_of_text({4: stream(packed[:-4], b"/Filter /FlateDecode")}),
        "wrong-checksum": _page_of_text({4: stream(packed[:-4] + b"abcd", b"/Filter /FlateDecode")}),
        "fewer-rows": picture_page(_short_fax(), b"/CCITTFaxDecode " + G4, BILEVEL),
    }


@cache
def sound_images() -> dict[str, bytes]:
    """Returns file name -> the same page as a picture file, unspoilt."""
    bilevel = scan().convert("1", dither=Image.Dither.NONE)
    return {
        "grey.bmp": saved(scan(), "BMP"),
        "bilevel.bmp": saved(bilevel, "BMP"),
        "raw.tif": saved(scan(), "TIFF"),
        "lzw.tif": saved(scan(), "TIFF", compression="tiff_lzw"),
        "jpeg.tif": saved(scan().convert("RGB"), "TIFF", compression="jpeg"),
        "group3.tif": saved(bilevel, "TIFF", compression="group3"),
        "group4.tif": saved(bilevel, "TIFF", compression="group4"),
        "lossy.webp": saved(scan().convert("RGB"), "WEBP", quality=60),
        "page.png": saved(scan(), "PNG"),
        "page.jpg": jpeg(),
        "page.jp2": jpx(),
        "page.gif": saved(scan(), "GIF"),
    }


@cache
def spoilt_images() -> dict[str, bytes]:
    """Returns file name -> the same page as a picture file, spoilt so that all or some of it is lost."""
    cut = {f"cut-{name}": data[: len(data) * 2 // 3] for name, data in sound_images().items()}
    return {
        **cut,
        **{
            f"unwritten-{name}": zeroed(data, keep=len(data) // 2 // _BLOCK_BYTES * _BLOCK_BYTES)
            for name, data in sound_images().items()
            if name in ("grey.bmp", "raw.tif", "lossy.webp")
        },
        **{f"hole-{name}": with_hole(sound_images()[name]) for name in _WITH_HOLES},
        **{
            f"rotten-{name}": _rotten_within(data)
            for name, data in sound_images().items()
            if name in ("lzw.tif", "jpeg.tif", "group3.tif", "group4.tif", "page.png", "page.jpg")
        },
    }


_BLOCK_BYTES = 4096
_WITH_HOLES = ("grey.bmp", "raw.tif", "lossy.webp", "page.jpg", "page.jp2", "page.png")


def with_hole(data: bytes, num_blocks: int = 4) -> bytes:
    """Returns the data without some blocks in its middle, in a file system's block size."""
    start = len(data) // 2 // _BLOCK_BYTES * _BLOCK_BYTES
    size = num_blocks * _BLOCK_BYTES
    return data[:start] + bytes(size) + data[start + size :]


def _rotten_within(data: bytes) -> bytes:
    start, size = len(data) // 2, min(4096, len(data) // 10)
    return data[:start] + rotten(data[start : start + size]) + data[start + size :]


def pages(_: Workshop) -> Iterator[MadePage]:
    """Yields them all, each with the statuses in which it may end."""
    lacking, whole = frozenset({"doubtful", "failed"}), frozenset({"ok", "embedded"})
    pdfs = ((lost(), frozenset({"failed"})), (in_part(), lacking), (harmless(), whole))
    for files, statuses in pdfs:
        for name, content in files.items():
            may_end = statuses | {"embedded"} if name in IN_LAYER else statuses
            yield MadePage(name=name, suffix=".pdf", content=content, statuses=may_end)
    for files, statuses in ((sound_images(), whole), (spoilt_images(), lacking)):
        for file, content in files.items():
            name, _, suffix = file.rpartition(".")
            yield MadePage(name=f"{name}-{suffix}", suffix=f".{suffix}", content=content, statuses=statuses)


def _lines_of_text() -> list[bytes]:
    return [
        b"BT /F1 15 Tf 50 %d Td (%s) Tj ET" % (780 - 24 * number, _LINES[number % len(_LINES)].encode())
        for number in range(30)
    ]


def _page_of_text(
    objects: Mapping[int, bytes], *, font: bytes = b"/F1", contents: bytes = b"4 0 R", more: bytes = b""
) -> bytes:
    """Returns a page of print drawn as text. font: of its second half. objects: replace others."""
    lines = _lines_of_text()
    half = [line.replace(b"/F1", font) for line in lines[15:]]
    return pdf(
        {
            1: b"<< /Type /Catalog /Pages 2 0 R >>",
            2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %s"
            b" /Resources << /Font << /F1 5 0 R /F9 8 0 R >> >> >>" % contents,
            4: stream(b"\n".join(lines[:15] + half) + more),
            5: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            **_broken_font(number=8),
            **objects,
        }
    )


def _broken_font(number: int = 5) -> dict[int, bytes]:
    widths = b"600 " * 95
    return {
        number: b"<< /Type /Font /Subtype /TrueType /BaseFont /ABCDEF+Own /FirstChar 32 /LastChar 126 /Widths [%s]"
        b" /FontDescriptor 9 0 R /Encoding /WinAnsiEncoding >>" % widths,
        9: b"<< /Type /FontDescriptor /FontName /ABCDEF+Own /Flags 32 /FontBBox [0 0 1000 1000] /ItalicAngle 0"
        b" /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 /FontFile2 10 0 R >>",
        10: stream(rotten(bytes(4000))),
    }


def _stream_cut_in_half() -> bytes:
    packed = zlib.compress(b"\n".join(_lines_of_text()))
    return stream(packed[: len(packed) // 2], b"/Filter /FlateDecode")


def _short_fax() -> bytes:
    """Returns fax data that ends properly two rows before the height its page claims, as fax machines write it."""
    page = scan().convert("1", dither=Image.Dither.NONE)
    return strip(page.crop((0, 0, WIDTH_PX, HEIGHT_PX - 2)), "group4")


def saved(image: Image.Image, form: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def strip(image: Image.Image, compression: str) -> bytes:
    """Returns the data of a TIFF of one strip, which is the same as in a PDF."""
    data = saved(image, "TIFF", compression=compression, tiffinfo={278: image.height})
    with Image.open(io.BytesIO(data)) as tiff:
        (start,), (length,) = tiff.tag_v2[273], tiff.tag_v2[279]
    return data[start : start + length]
