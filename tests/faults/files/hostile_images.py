"""Images that claim more than they hold, or hold more than anybody wants. Name -> content."""

import io
import random
import struct
import zlib
from collections.abc import Iterator

from PIL import Image

from tests.faults.files.hostile_pdfs import deflated

_MIB = 1 << 20
_SIDE = 60_000


def good(chance: random.Random) -> dict[str, bytes]:
    """Returns suffix -> a small picture in that format, to be damaged."""
    picture = Image.frombytes("L", (120, 90), chance.randbytes(120 * 90))
    picture.paste(255 * chance.randrange(2), (10, 10, 60, 50))
    out = {}
    forms = {
        "png": {},
        "jpg": {"quality": 80},
        "tiff": {"compression": "tiff_lzw"},
        "gif": {},
        "bmp": {},
        "webp": {},
        "jp2": {},
    }
    for suffix, options in forms.items():
        out[suffix] = _saved(
            picture.convert("RGB" if suffix in ("jpg", "webp", "jp2") else "L"), suffix, **options
        )
    return out


def crafted() -> Iterator[tuple[str, bytes]]:
    """Yields pixel bombs, images of many frames, and loops."""
    yield from _pngs()
    yield from _tiffs()
    yield from _others()


def png(
    width: int, height: int, data: bytes, *, depth: int = 1, colour: int = 0, chunks: bytes = b""
) -> bytes:
    """Returns a PNG with correct header and checksums. data: the compressed rows. chunks: come before them."""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunks + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def tiff(entries: dict[int, tuple[int, int, int]], *, next_offset: int = 0, data: bytes = b"") -> bytes:
    """Returns a TIFF of one directory. entries: tag -> (type, count, value)."""
    rows = b"".join(struct.pack("<HHII", tag, *entry) for tag, entry in sorted(entries.items()))
    return b"II*\0" + struct.pack("<IH", 8, len(entries)) + rows + struct.pack("<I", next_offset) + data


def _pngs() -> Iterator[tuple[str, bytes]]:
    rows = deflated(_SIDE * (_SIDE // 8 + 1) // _MIB * _MIB)
    yield "pixels-60000-whole.png", png(_SIDE, _SIDE, rows)
    yield "pixels-60000-claimed.png", png(_SIDE, _SIDE, zlib.compress(b"\0" * 100))
    yield "pixels-most.png", png(2**31 - 1, 2**31 - 1, b"")
    yield "pixels-none.png", png(0, 0, b"")
    yield "pixels-under-the-limit.png", png(13_900, 13_900, deflated(25 * _MIB))
    yield "data-bomb.png", png(64, 64, deflated(2048 * _MIB))
    yield (
        "text-bomb.png",
        png(64, 64, zlib.compress(b"\0" * 576), chunks=chunk(b"zTXt", b"a\0\0" + deflated(1024 * _MIB))),
    )
    yield (
        "profile-bomb.png",
        png(64, 64, zlib.compress(b"\0" * 576), chunks=chunk(b"iCCP", b"a\0\0" + deflated(512 * _MIB))),
    )
    yield "chunks-many.png", png(64, 64, zlib.compress(b"\0" * 576), chunks=chunk(b"tEXt", b"a\0b") * 100_000)
    yield (
        "frames-many.png",
        png(64, 64, zlib.compress(b"\0" * 576), chunks=chunk(b"acTL", struct.pack(">II", 2**31 - 1, 0))),
    )


def _tiffs() -> Iterator[tuple[str, bytes]]:
    def entries(side: int, bits: int = 8, **more: tuple[int, int, int]) -> dict[int, tuple[int, int, int]]:
        found = {256: (4, 1, side), 257: (4, 1, side), 258: (3, 1, bits), 259: (3, 1, 1), 262: (3, 1, 1),
                 273: (4, 1, 8), 277: (3, 1, 1), 278: (4, 1, side), 279: (4, 1, 64)}  # fmt: skip
        return found | {int(tag[1:]): entry for tag, entry in more.items()}

    yield "pixels-60000.tiff", tiff(entries(_SIDE))
    yield "pixels-most.tif", tiff(entries(2**32 - 1))
    yield "frames-in-circles.tiff", tiff(entries(8), next_offset=8)
    yield "frames-far.tiff", tiff(entries(8), next_offset=2**32 - 2)
    yield "strips-huge.tiff", tiff(entries(64, _273=(4, 2**31, 8), _279=(4, 2**31, 64)))
    yield "bits-odd.tiff", tiff(entries(64, bits=77))
    yield "tiles-none.tiff", tiff(entries(64, _322=(4, 1, 0), _323=(4, 1, 0), _324=(4, 1, 8)))
    frames = [Image.new("1", (40, 40), n % 2) for n in range(300)]
    yield "frames-300.tiff", _saved(frames[0], "tiff", save_all=True, append_images=frames[1:])
    big = Image.new("1", (13_900, 13_900), 1)
    yield "fax-under-the-limit.tif", _saved(big, "tiff", compression="group4")


def _others() -> Iterator[tuple[str, bytes]]:
    frames = [Image.new("P", (16, 16), n % 5) for n in range(2_000)]
    yield "frames-2000.gif", _saved(frames[0], "gif", save_all=True, append_images=frames[1:], disposal=2)
    small = _saved(Image.new("P", (16, 16), 3), "gif")
    yield "pixels-65535.gif", small[:6] + struct.pack("<HH", 65_535, 65_535) + small[10:]
    jpeg = _saved(Image.new("L", (64, 64), 99), "jpg")
    frame = jpeg.index(b"\xff\xc0")
    yield "pixels-65500.jpg", jpeg[: frame + 5] + struct.pack(">HH", 65_500, 65_500) + jpeg[frame + 9 :]
    yield "scans-many.jpg", jpeg[:-2] + jpeg[jpeg.index(b"\xff\xda") : -2] * 5_000 + jpeg[-2:]
    yield "comments-many.jpg", jpeg[:2] + (b"\xff\xfe\xff\xff" + b"c" * 65_533) * 300 + jpeg[2:]
    jp2 = _saved(Image.new("L", (64, 64), 99), "jp2")
    size = jp2.index(b"\xff\x51") + 6
    huge = struct.pack(">IIIIIIII", _SIDE, _SIDE, 0, 0, _SIDE, _SIDE, 0, 0)
    yield "pixels-60000.jp2", jp2[:size] + huge + jp2[size + 32 :]
    yield "tiles-tiny.j2k", _tiny_tiles(jp2[jp2.index(b"\xff\x4f") :])
    bmp = _saved(Image.new("L", (64, 64), 99), "bmp")
    yield "pixels-60000.bmp", bmp[:18] + struct.pack("<ii", _SIDE, _SIDE) + bmp[26:]
    yield "pixels-negative.bmp", bmp[:18] + struct.pack("<ii", -64, -(2**31)) + bmp[26:]
    webp = _saved(Image.new("RGB", (64, 64), "red"), "webp", lossless=True)
    yield "pixels-16384.webp", webp[:21] + struct.pack("<I", 0x0FFFFFFF) + webp[25:]


def _tiny_tiles(code: bytes) -> bytes:
    """Returns a JPEG 2000 code stream of many millions of tiles of one pixel each."""
    sizes = struct.pack(">IIIIIIII", 14_000, 14_000, 0, 0, 1, 1, 0, 0)
    return code[:8] + sizes + code[40:]


def _saved(picture: Image.Image, suffix: str, **options: object) -> bytes:
    forms = {"jpg": "JPEG", "tiff": "TIFF", "jp2": "JPEG2000"}
    out = io.BytesIO()
    picture.save(out, format=forms.get(suffix, suffix.upper()), **options)  # type: ignore[arg-type]
    return out.getvalue()
