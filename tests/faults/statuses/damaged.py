"""Pages whose picture is half lost, in every codec, as files and within PDFs; and the same ones whole.

The files around the data are in order: its end marks, lengths and checksums are those of what is left of it.
"""

import io
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import pymupdf
from PIL import Image

from pipeline.documents import images
from tests.faults.doubt.lost_pictures import (
    BILEVEL,
    G4,
    WIDTH_PX,
    fax,
    jbig2,
    picture_page,
    rotten,
    saved,
    scan,
    strip,
)
from tests.faults.files.hostile_images import png
from tests.faults.statuses.pages import MadePage, Workshop

_WHOLE = frozenset({"ok", "embedded"})
_LACKING = frozenset({"doubtful", "failed"})
_SHARES = (0.2, 0.5, 0.8)
_TILE_PX, _STRIP_ROWS = 256, 100
_TYPES = {1: "B", 3: "H", 4: "I"}
# Baseline, with codes of its own, progressive, in restart intervals, in colour.
_JPEGS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "baseline": ("L", {"quality": 75}),
    "optimised": ("L", {"optimize": True}),
    "progressive": ("L", {"progressive": True}),
    "intervals": ("L", {"restart_marker_rows": 1}),
    "colour": ("RGB", {"quality": 75}),
    "colour444": ("RGB", {"quality": 90, "subsampling": 0}),
    "colour-progressive": ("RGB", {"progressive": True}),
    "cmyk": ("CMYK", {"quality": 80}),
}  # fmt: skip
_JP2S: Mapping[str, dict[str, Any]] = {
    "lossless": {},
    "lossy": {"quality_mode": "rates", "quality_layers": [20]},
    "tiled": {"tile_size": (512, 512)},
    "by-resolution": {"progression": "RLCP"},
}
_WEBPS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "lossless": ("RGB", {"lossless": True}),
    "lossy": ("RGB", {"quality": 70}),
    "clear": ("RGBA", {"quality": 70}),
}


def half_lost(_: Workshop) -> Iterator[MadePage]:
    """Yields pages of which a part is lost."""
    for name, content in lost().items():
        stem, _, suffix = name.rpartition(".")
        yield MadePage(name=stem, suffix=f".{suffix}", content=content, statuses=_LACKING)


def whole(_: Workshop) -> Iterator[MadePage]:
    """Yields the same pages whole."""
    for name, content in sound().items():
        stem, _, suffix = name.rpartition(".")
        yield MadePage(name=stem, suffix=f".{suffix}", content=content, statuses=_WHOLE)


@cache
def sound() -> dict[str, bytes]:
    """Returns file name -> content of whole pictures in every codec."""
    pixels, bilevel = scan().tobytes(), _bilevel()
    made = {
        **{f"jpeg-{name}.jpg": _jpeg(name) for name in _JPEGS},
        **{f"jpeg-{name}.pdf": _jpeg_page(_jpeg(name)) for name in _JPEGS},
        **{f"jp2-{name}.jp2": _jp2(name) for name in _JP2S},
        **{f"jp2-{name}.j2k": _codestream(_jp2(name)) for name in _JP2S},
        **{f"jp2-{name}.pdf": _jp2_page(_jp2(name)) for name in _JP2S},
        "png-adam7.png": _interlaced(1),
        "png-16bit.png": saved(Image.fromarray(np.asarray(scan()).astype("uint16") * 257), "PNG"),
        **{f"png-{mode}.png": saved(scan().convert(mode), "PNG") for mode in ("1", "L", "P", "RGB", "RGBA", "LA")},
        **{f"gif-{mode}.gif": saved(scan().convert(mode), "GIF") for mode in ("1", "L", "P")},
        **{f"bmp-{mode}.bmp": saved(scan().convert(mode), "BMP") for mode in ("1", "L", "RGB")},
        "bmp-runs.bmp": _bmp_of_runs(1),
        **{f"webp-{name}.webp": _webp(name) for name in _WEBPS},
        **{name: make() for name, make in _OTHERS.items()},
        "flate.pdf": picture_page(zlib.compress(pixels), b"/FlateDecode"),
        "hex.pdf": picture_page(pixels.hex().encode() + b">", b"/ASCIIHexDecode"),
        "lzw.pdf": picture_page(strip(scan(), "tiff_lzw"), b"/LZWDecode"),
        "fax.pdf": picture_page(fax(), b"/CCITTFaxDecode " + G4, BILEVEL),
        "jbig2.pdf": _jbig2_page(fax()),
        "strips.pdf": _strip_page(_strip_jpegs()),
        "old-jpeg.tif": _old_jpeg(_jpeg("baseline")),
        **{f"libtiff-{name}.tif": saved(bilevel, "TIFF", compression=name)
           for name in ("group3", "group4", "packbits")},
        **{f"libtiff-{name}.tif": saved(scan().convert("RGB"), "TIFF", compression=name)
           for name in ("jpeg", "tiff_lzw", "tiff_adobe_deflate", "zstd")},
    }  # fmt: skip
    for name in _PACKERS:
        made[f"strips-{name}.tif"] = _strips(name)
        made[f"strip-{name}.tif"] = _strips(name, scan().height)
    for name in ("raw", "deflate", "jpeg"):
        made[f"tiles-{name}.tif"] = _tiles(name)
    return made


class Pictures(Mapping[str, bytes]):
    """File name -> content, made when it is asked for: all of them take seconds, their names none."""

    def __init__(self, makers: Mapping[str, Callable[[], bytes]]) -> None:
        self._makers = makers

    def __getitem__(self, name: str) -> bytes:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


@cache
def lost() -> Pictures:
    """Returns file name -> content of pictures of which a part is lost."""
    makers = {name: make for share in _SHARES for name, make in _cut_at(share).items()}
    makers["jbig2-cut.pdf"] = lambda: _jbig2_page(fax()[: len(fax()) // 2])
    makers["jbig2-rotten.pdf"] = lambda: _jbig2_page(rotten(fax(), keep=len(fax()) // 3))
    makers["strip-cut.pdf"] = lambda: _strip_page(
        [cut_and_ended(data, 0.5) if number == 7 else data for number, data in enumerate(_strip_jpegs())]
    )
    for name in _PACKERS:
        for spoil in (_dropped, _halved, _nowhere, _too_few):
            makers[f"strips-{name}-{spoil.__name__[1:]}.tif"] = partial(_strips, name, spoil=spoil)
    for name in ("raw", "deflate", "jpeg"):
        for spoil in (_halved, _nowhere):
            makers[f"tiles-{name}-{spoil.__name__[1:]}.tif"] = partial(_tiles, name, spoil)
    return Pictures(makers)


def _cut_at(share: float) -> dict[str, Callable[[], bytes]]:
    """Returns file name -> what makes its content: of the picture's data this share is left."""

    def jpeg(name: str = "baseline") -> bytes:
        return cut_and_ended(_jpeg(name), share)

    def codestream(name: str) -> bytes:
        return cut_and_ended(_codestream(_jp2(name)), share)

    def jp2(name: str) -> bytes:
        data, stream = _jp2(name), codestream(name)
        box = data.index(_codestream(data)) - 8
        return data[:box] + struct.pack(">I4s", len(stream) + 8, b"jp2c") + stream

    def rows() -> bytes:
        return _upper(scan(), share).tobytes()

    def lines() -> bytes:
        return strip(_upper(_bilevel(), share), "group4")

    def other(name: str) -> bytes:
        data = _OTHERS[name]()
        return data[: int(len(data) * share)]

    return {
        **{f"jpeg-{name}-{share}.jpg": partial(jpeg, name) for name in _JPEGS},
        **{f"jpeg-{name}-{share}.pdf": lambda name=name: _jpeg_page(jpeg(name)) for name in _JPEGS},
        **{f"jp2-{name}-{share}.j2k": partial(codestream, name) for name in _JP2S},
        **{f"jp2-{name}-{share}.jp2": partial(jp2, name) for name in _JP2S},
        **{f"jp2-{name}-{share}.pdf": lambda name=name: _jp2_page(jp2(name)) for name in _JP2S},
        **{f"webp-{name}-{share}.webp": lambda name=name: _riff(_webp(name), share) for name in _WEBPS},
        f"flate-{share}.pdf": lambda: picture_page(zlib.compress(rows()), b"/FlateDecode"),
        f"hex-{share}.pdf": lambda: picture_page(rows().hex().encode() + b">", b"/ASCIIHexDecode"),
        f"lzw-{share}.pdf": lambda: picture_page(strip(_upper(scan(), share), "tiff_lzw"), b"/LZWDecode"),
        f"fax-{share}.pdf": lambda: picture_page(lines(), b"/CCITTFaxDecode " + G4, BILEVEL),
        f"jbig2-{share}.pdf": lambda: _jbig2_page(lines()),
        f"png-{share}.png": partial(_png, share),
        f"png-adam7-{share}.png": partial(_interlaced, share),
        f"gif-{share}.gif": partial(_gif, share),
        f"bmp-runs-{share}.bmp": partial(_bmp_of_runs, share),
        f"fax-{share}.tif": lambda: _one_strip(lines(), compression=4, depth=1),
        f"jpeg-{share}.tif": lambda: _one_strip(jpeg(), compression=7),
        f"old-jpeg-{share}.tif": lambda: _old_jpeg(jpeg()),
        **{f"cut-{share}-{name}": partial(other, name) for name in _OTHERS},
    }  # fmt: skip


def cut_and_ended(data: bytes, share: float) -> bytes:
    """Returns a JPEG or JPEG 2000 stream cut at this share, with its end mark after it."""
    return data[: int(len(data) * share)].rstrip(b"\xff") + b"\xff\xd9"


def tiff(entries: Mapping[int, tuple[int, Sequence[int]]], data: bytes) -> bytes:
    """Returns a TIFF of one directory behind `data`, which begins at byte 8. entries: tag -> type, values."""
    out = bytearray(b"II*\0\0\0\0\0" + data)
    rows = []
    for tag, (kind, values) in sorted(entries.items()):
        packed = struct.pack(f"<{len(values)}{_TYPES[kind]}", *values)
        if len(packed) > 4:
            place = struct.pack("<I", len(out))
            out += packed
        else:
            place = packed.ljust(4, b"\0")
        rows.append(struct.pack("<HHI", tag, kind, len(values)) + place)
    out += bytes(len(out) % 2)
    out[4:8] = struct.pack("<I", len(out))
    return bytes(out) + struct.pack("<H", len(rows)) + b"".join(rows) + bytes(4)


@cache
def _jpeg(name: str) -> bytes:
    mode, options = _JPEGS[name]
    return saved(scan().convert(mode), "JPEG", **options)


def _jpeg_page(data: bytes) -> bytes:
    mode = Image.open(io.BytesIO(data)).mode
    name = {"L": b"DeviceGray", "RGB": b"DeviceRGB", "CMYK": b"DeviceCMYK"}[mode]
    return picture_page(data, b"/DCTDecode", b"/ColorSpace /%s /BitsPerComponent 8" % name)


@cache
def _jp2(name: str) -> bytes:
    return saved(scan(), "JPEG2000", **_JP2S[name])


def _jp2_page(data: bytes) -> bytes:
    return picture_page(data, b"/JPXDecode", b"")


def _jbig2_page(data: bytes) -> bytes:
    return picture_page(jbig2(data), b"/JBIG2Decode", BILEVEL)


def _codestream(data: bytes) -> bytes:
    return data[data.index(b"\xff\x4f\xff\x51") :]


@cache
def _webp(name: str) -> bytes:
    mode, options = _WEBPS[name]
    return saved(scan().convert(mode), "WEBP", **options)


@cache
def _page_in(form: str) -> bytes:
    images.learn("HEIF")
    return saved(scan().convert("RGB"), form, quality=60)


# Formats that are spoilt by cutting the file alone.
_OTHERS: Mapping[str, Callable[[], bytes]] = {
    "page.heic": partial(_page_in, "HEIF"),
    "page.avif": partial(_page_in, "AVIF"),
    **{
        f"page-{mode}.pnm": lambda mode=mode: saved(scan().convert(mode), "PPM") for mode in ("1", "L", "RGB")
    },
}


def _riff(data: bytes, share: float) -> bytes:
    """Returns a WebP file cut at this share, with the lengths of what is left."""
    left = bytearray(data[: int(len(data) * share) // 2 * 2])
    left[4:8], left[16:20] = struct.pack("<I", len(left) - 8), struct.pack("<I", len(left) - 20)
    return bytes(left)


def _upper(image: Image.Image, share: float) -> Image.Image:
    return image.crop((0, 0, image.width, int(image.height * share)))


def _bilevel() -> Image.Image:
    return scan().convert("1", dither=Image.Dither.NONE)


def _png(share: float) -> bytes:
    pixels = np.asarray(_upper(scan(), share))
    return png(*scan().size, zlib.compress(b"".join(b"\0" + row.tobytes() for row in pixels)), depth=8)


def _interlaced(share: float) -> bytes:
    pixels = np.asarray(scan())
    passes = (
        (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2),
    )  # fmt: skip
    rows = b"".join(
        b"\0" + row.tobytes() for left, top, right, down in passes for row in pixels[top::down, left::right]
    )
    made = bytearray(png(*scan().size, zlib.compress(rows[: int(len(rows) * share)]), depth=8))
    made[28] = 1
    made[29:33] = struct.pack(">I", zlib.crc32(bytes(made[12:29])))
    return bytes(made)


def _gif(share: float) -> bytes:
    made = bytearray(saved(_upper(scan(), share), "GIF"))
    size = struct.pack("<HH", *scan().size)
    place = made.index(b"," + bytes(4) + made[6:10])
    made[6:10] = made[place + 5 : place + 9] = size
    return bytes(made)


def _bmp_of_runs(share: float) -> bytes:
    """Returns a bitmap coded as runs of equal pixels. Source: Windows bitmap, BI_RLE8."""
    data = bytearray()
    for row in np.asarray(scan())[::-1][: int(scan().height * share)]:
        for run in _runs(row.tobytes()):
            data += bytes(run)
        data += b"\0\0"
    data += b"\0\1"
    palette = b"".join(bytes((shade, shade, shade, 0)) for shade in range(256))
    head = struct.pack("<IiiHHIIiiII", 40, *scan().size, 1, 8, 1, len(data), 0, 0, 256, 0) + palette
    return b"BM" + struct.pack("<IHHI", 14 + len(head) + len(data), 0, 0, 14 + len(head)) + head + bytes(data)


def _runs(row: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(row):
        length = 1
        while at + length < len(row) and length < 255 and row[at + length] == row[at]:
            length += 1
        yield length, row[at]
        at += length


def _packed_bits(data: bytes) -> bytes:
    return b"".join(
        bytes((len(run) - 1,)) + run
        for row in range(0, len(data), WIDTH_PX)
        for run in (data[at : min(at + 128, row + WIDTH_PX)] for at in range(row, row + WIDTH_PX, 128))
    )


def _image(data: bytes) -> Image.Image:
    return Image.frombytes("L", (WIDTH_PX, len(data) // WIDTH_PX), data)


_PACKERS: Mapping[str, tuple[int, Callable[[bytes], bytes]]] = {
    "raw": (1, bytes),
    "lzw": (5, lambda data: strip(_image(data), "tiff_lzw")),
    "jpeg": (7, lambda data: saved(_image(data), "JPEG")),
    "deflate": (8, zlib.compress),
    "packbits": (32773, _packed_bits),
}
Parts = list[tuple[int, bytes]]


def _dropped(parts: Parts) -> Parts:
    return [(start, b"" if 7 <= number < 10 else data) for number, (start, data) in enumerate(parts)]


def _halved(parts: Parts) -> Parts:
    """Returns the parts with the seventh and the two after it half as long; those behind move up."""
    at, moved = 8, []
    for number, (_, data) in enumerate(parts):
        left = data[: len(data) // 2] if 7 <= number < 10 else data
        moved.append((at, left))
        at += len(left)
    return moved


def _nowhere(parts: Parts) -> Parts:
    """Returns the parts with three that were never written, as of a sparse file."""
    return [(0, b"") if 7 <= number < 10 else part for number, part in enumerate(parts)]


def _too_few(parts: Parts) -> Parts:
    return parts[:10]


def _same(parts: Parts) -> Parts:
    return parts


def _strips(name: str, rows: int = _STRIP_ROWS, spoil: Callable[[Parts], Parts] = _same) -> bytes:
    pixels, (code, pack) = scan().tobytes(), _PACKERS[name]
    packed = [pack(pixels[at : at + rows * WIDTH_PX]) for at in range(0, len(pixels), rows * WIDTH_PX)]
    return _in_parts(packed, spoil, {259: (3, [code]), 278: (4, [rows])}, places=273, counts=279)


def _tiles(name: str, spoil: Callable[[Parts], Parts] = _same) -> bytes:
    code, pack = _PACKERS[name]
    packed = []
    for top in range(0, scan().height, _TILE_PX):
        for left in range(0, WIDTH_PX, _TILE_PX):
            tile = Image.new("L", (_TILE_PX, _TILE_PX), 255)
            tile.paste(
                scan().crop((left, top, min(WIDTH_PX, left + _TILE_PX), min(scan().height, top + _TILE_PX)))
            )
            packed.append(saved(tile, "JPEG") if name == "jpeg" else pack(tile.tobytes()))
    sides = {259: (3, [code]), 322: (4, [_TILE_PX]), 323: (4, [_TILE_PX])}
    return _in_parts(packed, spoil, sides, places=324, counts=325)  # fmt: skip


def _in_parts(
    packed: Sequence[bytes],
    spoil: Callable[[Parts], Parts],
    entries: dict[int, tuple[int, list[int]]],
    *,
    places: int,
    counts: int,
) -> bytes:
    starts = [8 + sum(map(len, packed[:number])) for number in range(len(packed))]
    parts = spoil(list(zip(starts, packed, strict=True)))
    written = b"".join(data for _, data in parts) if spoil is _halved else b"".join(packed)
    found = {places: (4, [start for start, _ in parts]), counts: (4, [len(data) for _, data in parts])}
    return tiff({**_grey(), **entries, **found}, written)


def _grey(depth: int = 8) -> dict[int, tuple[int, list[int]]]:
    width, height = scan().size
    return {256: (4, [width]), 257: (4, [height]), 258: (3, [depth]), 262: (3, [depth == 8]), 277: (3, [1])}


def _one_strip(data: bytes, *, compression: int, depth: int = 8) -> bytes:
    place = {273: (4, [8]), 278: (4, [scan().height]), 279: (4, [len(data)])}
    return tiff({**_grey(depth), 259: (3, [compression]), **place}, data)


def _old_jpeg(data: bytes) -> bytes:
    """Returns a TIFF of the sixth kind, with a whole JPEG within. Source: TIFF 6.0, 22."""
    return tiff(
        {**_grey(), 259: (3, [6]), 278: (4, [scan().height]), 513: (4, [8]), 514: (4, [len(data)])}, data
    )


def _strip_jpegs() -> list[bytes]:
    return [
        saved(scan().crop((0, top, WIDTH_PX, min(scan().height, top + _STRIP_ROWS))), "JPEG")
        for top in range(0, scan().height, _STRIP_ROWS)
    ]


def _strip_page(jpegs: Sequence[bytes]) -> bytes:
    """Returns a page that a scanner's program put together of strips, from the top down."""
    with pymupdf.open() as document:
        page = document.new_page(width=595, height=842)
        for number, data in enumerate(jpegs):
            top = number * _STRIP_ROWS / scan().height * 842
            page.insert_image((0, top, 595, min(842, top + 842 * _STRIP_ROWS / scan().height)), stream=data)
        return bytes(document.tobytes())
