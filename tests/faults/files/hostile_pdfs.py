"""PDFs that no program writes: each is a way to make a reader crash, hang, or use all memory. Name -> content."""

import random
import re
import zlib
from collections.abc import Callable, Iterator, Mapping

Bytes = dict[str, bytes]
_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
_HELLO = b"BT /F1 18 Tf 40 200 Td (hostile) Tj ET"
_MIB = 1 << 20


def stream(data: bytes, extra: bytes = b"", *, length: int | None = None) -> bytes:
    """Returns a stream object. length: what it claims, its own by default."""
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (
        len(data) if length is None else length,
        extra,
        data,
    )


def pdf(objects: Mapping[int, bytes], trailer: bytes = b"/Root 1 0 R", *, tail: bytes = b"") -> bytes:
    """Returns a file with these objects and a correct table of their places. tail: comes after it."""
    out = bytearray(b"%PDF-1.7\n")
    offsets = {}
    for number, body in objects.items():
        offsets[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start, size = len(out), max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    for number in range(1, size):
        out += b"%010d 00000 %c \n" % (offsets.get(number, 0), b"n" if number in offsets else b"f")
    out += b"trailer\n<< /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n%s" % (size, trailer, start, tail)
    return bytes(out)


def page(
    content: bytes = _HELLO,
    *,
    box: bytes = b"[0 0 300 300]",
    resources: bytes = b"",
    extra: bytes = b"",
    more: Mapping[int, bytes] | None = None,
    stream_extra: bytes = b"",
    length: int | None = None,
) -> bytes:
    """Returns a file of one page. more: further objects, from number 6 on."""
    return pdf(
        {
            1: b"<< /Type /Catalog /Pages 2 0 R >>",
            2: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            3: b"<< /Type /Page /Parent 2 0 R /MediaBox %s /Contents 4 0 R"
            b" /Resources << /Font << /F1 5 0 R >> %s >> %s >>" % (box, resources, extra),
            4: stream(content, stream_extra, length=length),
            5: _FONT,
            **(more or {}),
        }
    )


def deflated(num_bytes: int, filler: bytes = b"\0") -> bytes:
    """Returns `num_bytes` equal bytes (in MiB, rounded down) as a zlib stream of a thousandth of the size.

    Made without compressing them all: blocks that end in a full flush are independent. Source: RFC 1950, 1951.
    """
    count = num_bytes // _MIB
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(filler * _MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    total, value = count * _MIB, filler[0]
    one = (1 + total * value) % 65_521
    other = (total + value * (total * (total + 1) // 2)) % 65_521
    return b"\x78\xda" + block * count + b"\x03\x00" + (other << 16 | one).to_bytes(4, "big")


def crafted() -> Iterator[tuple[str, bytes]]:
    """Yields files made by hand, each with one trick."""
    for group in (_trees(), _tables(), _boxes(), _bombs(), _contents(), _fonts_and_images(), _actions()):
        for name, data in group.items():
            yield f"{name}.pdf", data


def _tree(pages: bytes, third: bytes | None = None, **others: bytes) -> bytes:
    third = third or b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] >>"
    objects = {1: b"<< /Type /Catalog /Pages 2 0 R >>", 2: pages, 3: third}
    return pdf(objects | {int(name[1:]): body for name, body in others.items()})


def _trees() -> Bytes:
    kids = b"<< /Type /Pages /Kids [3 0 R] /Count %s >>"
    deep = {
        n: b"<< /Type /Pages /Parent %d 0 R /Kids [%d 0 R] /Count 1 >>" % (n - 1, n + 1)
        for n in range(3, 5000)
    }
    return {
        "count-huge": _tree(kids % b"2147483647"),
        "count-beyond": _tree(kids % b"99999999999999999999"),
        "count-negative": _tree(kids % b"-1"),
        "count-zero": _tree(kids % b"0"),
        "count-name": _tree(kids % b"/Many"),
        "tree-cyclic": _tree(
            b"<< /Type /Pages /Kids [3 0 R] /Count 2 >>", b"<< /Type /Pages /Kids [2 0 R] /Count 2 >>"),
        "tree-own-child": _tree(b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 9 >>"),
        "tree-of-numbers": _tree(b"<< /Type /Pages /Kids [1 2 (three) null 99 0 R] /Count 5 >>"),
        "tree-without-kids": _tree(b"<< /Type /Pages /Count 7 >>"),
        "tree-is-stream": _tree(stream(b"nothing")),
        "tree-deep": pdf({1: b"<< /Type /Catalog /Pages 2 0 R >>", 2: kids % b"1", **deep,
                          5000: b"<< /Type /Page /Parent 4999 0 R /MediaBox [0 0 300 300] >>"}),
        # A reader accepts no more pages than there are objects.
        "pages-100000": _tree(
            b"<< /Type /Pages /Kids [" + b"3 0 R " * 100_000 + b"] /Count 100000 >>", n100010=b"null"),
        "pages-100000-claimed": _tree(kids % b"100000", n100010=b"null"),
        "page-own-parent": _tree(kids % b"1", b"<< /Type /Page /Parent 3 0 R >>"),
        "page-null": _tree(kids % b"1", b"null"),
        "page-array": _tree(kids % b"1", b"[3 0 R]"),
        "catalog-missing": pdf({2: kids % b"1", 3: b"<< >>"}),
        "catalog-itself": pdf({1: b"1 0 R"}),
        "inherited-in-circles": _tree(
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 /Parent 4 0 R >>",
            b"<< /Type /Page /Parent 4 0 R >>",
            n4=b"<< /Type /Pages /Parent 2 0 R /Kids [3 0 R] /Count 1 >>",
        ),
    }  # fmt: skip


def _tables() -> Bytes:
    good = page()
    start = good.rindex(b"xref\n0")
    loop = re.sub(rb"/Root 1 0 R", b"/Root 1 0 R /Prev %d" % start, good)
    objects = b"6 0 " + b" ".join(b"%d %d" % (n, n) for n in range(100_000))
    return {
        "xref-loop": loop,
        "xref-far": re.sub(rb"startxref\n\d+", b"startxref\n99999999999", good),
        "xref-negative": re.sub(rb"startxref\n\d+", b"startxref\n-5", good),
        "xref-size-huge": re.sub(rb"xref\n0 \d+", b"xref\n0 999999999", good),
        "xref-zeroed": good[:start] + re.sub(rb"\d{10}", b"0000000000", good[start:]),
        "xref-all-same": good[:start] + re.sub(rb"0\d{9}(?= 00000 n)", b"0000000009", good[start:]),
        "xref-stream-loop": good + b"9 0 obj\n" + stream(
            b"", b"/Type /XRef /W [1 2 1] /Size 10 /Root 1 0 R /Prev %d" % len(good)
        ) + b"\nendobj\nstartxref\n%d\n%%%%EOF\n" % len(good),
        "xref-widths-huge": good + b"9 0 obj\n" + stream(
            b"abc", b"/Type /XRef /W [99999999 99999999 99999999] /Size 10 /Root 1 0 R"
        ) + b"\nendobj\nstartxref\n%d\n%%%%EOF\n" % len(good),
        "object-stream-of-itself": pdf({1: b"<< /Type /Catalog /Pages 2 0 R >>", 2: stream(
            b"2 0 << >>", b"/Type /ObjStm /N 1 /First 4 /Extends 2 0 R")}),
        "object-stream-huge-n": page(more={6: stream(objects, b"/Type /ObjStm /N 2147483647 /First 10")}),
        "object-stream-bomb": page(more={6: stream(
            deflated(300 * _MIB, b"<"), b"/Type /ObjStm /N 100 /First 10 /Filter /FlateDecode")}),
        "arrays-deep": page(extra=b"/Deep " + b"[" * 100_000 + b"]" * 100_000),
        "dictionaries-deep": page(extra=b"/Deep " + b"<</A" * 50_000 + b" 1 " + b">>" * 50_000),
        "reference-chain": pdf({1: b"<< /Type /Catalog /Pages 2 0 R >>",
                                **{n: b"%d 0 R" % (n + 1) for n in range(2, 20_000)}, 20_000: b"2 0 R"}),
        "encrypt-garbage": pdf({1: b"<< /Type /Catalog /Pages 2 0 R >>", 2: b"<< /Kids [] /Count 0 >>"},
                               b"/Root 1 0 R /ID [(a) (b)] /Encrypt << /Filter /Standard /V 99 /R 77 /O (x) /U (y) >>"),
        "encrypt-itself": pdf({1: b"<< /Type /Catalog /Pages 2 0 R >>", 2: b"<< /Kids [] /Count 0 >>"},
                              b"/Root 1 0 R /Encrypt 1 0 R"),
        "encrypt-short-key": pdf({1: b"<< /Type /Catalog /Pages 2 0 R >>", 2: b"<< /Kids [] /Count 0 >>"},
                                 b"/Root 1 0 R /ID [()()] /Encrypt << /Filter /Standard /V 5 /R 6 /Length -8 >>"),
        "only-the-end": b"%PDF-1.7\n%%EOF\n",
        "only-a-header": b"%PDF-1.7",
        "version-none": b"%PDF-\n" + page()[9:],
        "header-late": b"junk\n" * 150 + page(),
        "updates-many": page() + b"\nxref\n0 0\ntrailer\n<< /Root 1 0 R >>\nstartxref\n0\n%%EOF" * 5_000,
    }  # fmt: skip


def _boxes() -> Bytes:
    boxes = {
        "huge": b"[0 0 1e9 1e9]", "beyond": b"[0 0 1e39 1e39]", "zero": b"[0 0 0 0]",
        "negative": b"[300 300 -300 -300]",
        "nan": b"[0 0 nan NaN]", "infinite": b"[0 0 inf 1e400]",
        "thread": b"[0 0 100000 0.01]", "names": b"[/a /b /c /d]",
        "short": b"[0 0 300]", "far": b"[1e8 1e8 100000300 100000300]", "itself": b"3 0 R",
    }  # fmt: skip
    return {
        **{f"box-{name}": page(box=box) for name, box in boxes.items()},
        "unit-huge": page(extra=b"/UserUnit 1e9"),
        "unit-zero": page(extra=b"/UserUnit 0"),
        "rotate-45": page(extra=b"/Rotate 45"),
        "rotate-huge": page(extra=b"/Rotate 99999999999999"),
        "crop-outside": page(extra=b"/CropBox [900 900 901 901]"),
    }


def _bombs() -> Bytes:
    once = deflated(1024 * _MIB, b" ")
    twice = zlib.compress(deflated(1024 * _MIB, b" "), 9)
    pixels = b"/Type /XObject /Subtype /Image /ColorSpace /DeviceGray /BitsPerComponent 8"
    image = b"/XObject << /I 6 0 R >>"
    laughs = {
        n: stream(b"/L Do " * 10, b"/Type /XObject /Subtype /Form /BBox [0 0 9 9]"
                  b" /Resources << /XObject << /L %d 0 R >> >>"
                  % (n + 1)) for n in range(6, 16)
    } | {16: stream(_HELLO, b"/Type /XObject /Subtype /Form /BBox [0 0 300 300]")}  # fmt: skip
    return {
        "bomb-content": page(once, stream_extra=b"/Filter /FlateDecode"),
        "bomb-content-twice": page(twice, stream_extra=b"/Filter [/FlateDecode /FlateDecode]"),
        "bomb-filters": page(zlib.compress(_HELLO), stream_extra=b"/Filter [" + b"/FlateDecode " * 5_000 + b"]"),
        "bomb-image": page(b"300 0 0 300 0 0 cm /I Do", resources=image, more={6: stream(
            deflated(1200 * _MIB), pixels + b" /Width 60000 /Height 20000 /Filter /FlateDecode")}),
        "bomb-image-claims": page(b"300 0 0 300 0 0 cm /I Do", resources=image, more={6: stream(
            b"x", pixels + b" /Width 2147483647 /Height 2147483647")}),
        "bomb-laughs": page(b"/L Do", resources=b"/XObject << /L 6 0 R >>", more=laughs),
        "bomb-predictor": page(deflated(64 * _MIB), stream_extra=b"/Filter /FlateDecode /DecodeParms"
                               b" << /Predictor 15 /Columns 2147483647 /Colors 99 /BitsPerComponent 64 >>"),
        "bomb-contents-array": page(extra=b"/Contents [" + b"4 0 R " * 100_000 + b"]"),
    }  # fmt: skip


def _contents() -> Bytes:
    return {
        "content-q": page(b"q " * 1_000_000),
        "content-Q": page(b"Q " * 1_000_000),
        "content-dashes": page(b"[0.0001 0.0001] 0 d 1 w 0 0 m 300 300 l S"),
        "content-coordinates": page(b"1e38 1e38 m -1e38 1e38 l 1e38 -1e38 l h f 1 w 0 0 m 1e30 1e30 l S"),
        "content-matrix": page(b"1e20 1e20 1e-20 nan 0 0 cm " + _HELLO),
        "content-font-size": page(_HELLO.replace(b"18", b"1e12")),
        "content-line-width": page(b"1e30 w 0 0 m 300 300 l S"),
        "content-curves": page(b"0 0 m " + b"9 9 1e6 300 300 0 c " * 200_000 + b"S"),
        "content-garbage": page(bytes(random.Random(5).randbytes(200_000))),
        "content-unclosed": page(b"BT /F1 18 Tf 40 200 Td (never ends"),
        "content-inline-image": page(b"BI /W 2147483647 /H 9 /BPC 8 /CS /G ID xxxx EI"),
        "content-length-wrong": page(length=2_000_000_000),
        "content-length-negative": page(length=-1),
        "content-not-flate": page(b"no zlib here", stream_extra=b"/Filter /FlateDecode"),
        "content-unknown-filter": page(stream_extra=b"/Filter /Nonsense"),
        "content-escapes": page(b"BT /F1 18 Tf 40 200 Td (\033[31mred\033]0;title\007\010) Tj ET"),
        "form-of-itself": page(b"/L Do", resources=b"/XObject << /L 6 0 R >>", more={6: stream(
            b"/L Do", b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /L 6 0 R >> >>")}),
        "pattern-tiny": page(b"/Pattern cs /P scn 0 0 300 300 re f", resources=b"/Pattern << /P 6 0 R >>", more={
            6: stream(b"0 0 1 1 re f", b"/PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 1 1]"
                      b" /XStep 0.0001 /YStep 0.0001")}),
        "shading-huge": page(b"/S sh", resources=b"/Shading << /S << /ShadingType 1 /ColorSpace /DeviceRGB"
                             b" /Domain [0 1e9 0 1e9]"
                             b" /Function << /FunctionType 2 /N 99999 /Domain [0 1] >> >> >>"),
        "function-of-itself": page(b"/S sh", resources=b"/Shading << /S << /ShadingType 2 /ColorSpace /DeviceGray"
                                   b" /Coords [0 0 1 1] /Function 6 0 R >> >>", more={
            6: b"<< /FunctionType 3 /Domain [0 1] /Functions [6 0 R 6 0 R] /Bounds [0.5] /Encode [0 1 0 1] >>"}),
        "function-sampled-huge": page(b"/S sh", resources=b"/Shading << /S << /ShadingType 2 /ColorSpace /DeviceGray"
                                      b" /Coords [0 0 1 1] /Function 6 0 R >> >>", more={6: stream(
            b"x", b"/FunctionType 0 /Domain [0 1 0 1 0 1] /Range [0 1] /Size [99999 99999 99999] /BitsPerSample 32")}),
        "mask-of-itself": page(b"/G gs 0 0 300 300 re f",
                               resources=b"/ExtGState << /G << /SMask << /S /Alpha /G 6 0 R >> >> >>",
                               more={6: stream(b"/G gs 0 0 9 9 re f", b"/Type /XObject /Subtype /Form"
                                     b" /BBox [0 0 9 9] /Group"
                                     b" << /S /Transparency >> /Resources << /ExtGState << /G << /SMask"
                                     b" << /S /Alpha /G 6 0 R >> >> >> >>")}),
    }  # fmt: skip


def _fonts_and_images() -> Bytes:
    show = b"300 0 0 300 0 0 cm /I Do"
    resources = b"/XObject << /I 6 0 R >>"
    image = (
        b"/Type /XObject /Subtype /Image /Width 64 /Height 64 /ColorSpace %s /BitsPerComponent 8 /Filter /%s"
    )
    garbage = random.Random(6).randbytes(5_000)
    filters = (
        "DCTDecode", "JPXDecode", "JBIG2Decode", "CCITTFaxDecode", "LZWDecode", "RunLengthDecode",
        "ASCII85Decode",
    )  # fmt: skip
    spaces = {
        "itself": b"6 0 R", "indexed": b"[/Indexed /DeviceRGB 99999 (x)]", "icc": b"[/ICCBased 4 0 R]",
        "device-n": b"[/DeviceN [" + b"/c " * 5_000 + b"] /DeviceRGB 4 0 R]",
    }  # fmt: skip
    fonts = {
        "type3": b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 9 9] /FontMatrix [1 0 0 1 0 0] /FirstChar 0"
        b" /LastChar 255"
        b" /CharProcs << /a 7 0 R >> /Encoding << /Differences [0 " + b"/a " * 256 + b"] >>"
        b" /Resources << /Font << /F1 6 0 R >> >> >>",
        "truetype": b"<< /Type /Font /Subtype /TrueType /BaseFont /X"
        b" /FontDescriptor << /FontFile2 8 0 R /Flags 4 >> >>",
        "cid": b"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding 8 0 R /DescendantFonts [6 0 R] >>",
        "itself": b"6 0 R",
    }  # fmt: skip
    calls = stream(b"1 0 d0 BT /F1 9 Tf (hostile) Tj ET")
    return {
        **{f"image-{name[:-6].lower()}": page(show, resources=resources, more={
            6: stream(garbage, image % (b"/DeviceGray", name.encode()))}) for name in filters},
        **{f"space-{name}": page(show, resources=resources, more={
            6: stream(zlib.compress(garbage), image % (space, b"FlateDecode"))}) for name, space in spaces.items()},
        **{f"font-{name}": page(resources=b"/Font << /F1 6 0 R >>", more={
            6: font, 7: calls, 8: stream(garbage)}) for name, font in fonts.items()},
    }  # fmt: skip


def _actions() -> Bytes:
    """Yields files that ask for what a reader must not do: run, open or fetch what a document names."""
    catalog = b"<< /Type /Catalog /Pages 2 0 R %s >>"
    actions = {
        "javascript": b"/OpenAction << /S /JavaScript /JS (app.launchURL\\('http://127.0.0.1:9/'\\)) >>",
        "launch": b"/OpenAction << /S /Launch /F (/bin/sh) /P (-c 'touch pwned') >>",
        "elsewhere": b"/OpenAction << /S /GoToR /F (/etc/passwd) /D [0 /Fit] >>",
        "files": b"/Names << /EmbeddedFiles << /Names [(../../pwned) << /Type /Filespec /F (../../pwned) >>] >> >>",
        "xfa": b"/AcroForm << /Fields [] /XFA 4 0 R >>",
    }
    outside = stream(b"", b"/F (/etc/passwd) /FFilter /FlateDecode")
    return {
        **{f"action-{name}": page().replace(catalog % b"", catalog % action) for name, action in actions.items()},
        "stream-outside": page(more={6: outside}, extra=b"/Contents 6 0 R"),
        "annotations-in-circles": page(extra=b"/Annots 6 0 R", more={6: b"[6 0 R 7 0 R]", 7: (
            b"<< /Type /Annot /Subtype /Widget /Rect [0 0 99 99] /Parent 7 0 R /Kids [7 0 R] /AP << /N 7 0 R >> >>")}),
        "outlines-in-circles": page().replace(
            catalog % b"", catalog % b"/Outlines << /First 1 0 R /Last 1 0 R /Count 9 >>"),
    }  # fmt: skip


MUTATIONS: dict[str, Callable[[bytes, bytes, random.Random], bytes]] = {}


def mutation(
    function: Callable[[bytes, bytes, random.Random], bytes],
) -> Callable[[bytes, bytes, random.Random], bytes]:
    """Registers a function(content, another file's content, chance) -> damaged content under its name."""
    MUTATIONS[function.__name__] = function
    return function


@mutation
def flip_bits(data: bytes, other: bytes, chance: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(chance.choice((1, 8, 64, 512))):
        out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)
    return bytes(out)


@mutation
def truncate(data: bytes, other: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(10, len(data))]


@mutation
def splice(data: bytes, other: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))] + other[chance.randrange(len(other)) :]


@mutation
def duplicate(data: bytes, other: bytes, chance: random.Random) -> bytes:
    start, length, at = chance.randrange(len(data)), chance.randrange(1, 20_000), chance.randrange(len(data))
    return data[:at] + data[start : start + length] * chance.randint(1, 20) + data[at:]


@mutation
def erase(data: bytes, other: bytes, chance: random.Random) -> bytes:
    start, length = chance.randrange(len(data)), chance.randrange(1, 5_000)
    return data[:start] + data[start + length :]


@mutation
def blank_out(data: bytes, other: bytes, chance: random.Random) -> bytes:
    start, length = chance.randrange(len(data)), chance.randrange(1, 5_000)
    return data[:start] + chance.choice((b"\0", b"\xff")) * length + data[start + length :]


@mutation
def wrong_numbers(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Replaces some of the numbers written in it: sizes, offsets, counts."""
    wrong = (b"0", b"-1", b"65536", b"2147483648", b"99999999999999999999", b"nan", b"1e400")
    rate = chance.choice((0.002, 0.02, 0.2))
    return re.sub(rb"\d+", lambda found: chance.choice(wrong) if chance.random() < rate else found[0], data)


@mutation
def wrong_bytes_at_the_start(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Replaces bytes at the start, where images have their sizes."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        out[chance.randrange(8, min(len(out), 120))] = chance.choice(
            (0, 0x7F, 0x80, 0xFF, chance.randrange(256))
        )
    return bytes(out)
