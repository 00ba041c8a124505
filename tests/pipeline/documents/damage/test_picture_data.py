"""Tells pictures that end early from whole ones, in every codec, as files and within PDFs."""

import base64
import io
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pipeline.documents.damage import jpeg_data
from pipeline.documents.damage.image_losses import png_ends_early
from pipeline.documents.damage.picture_data import fax_rows
from pipeline.documents.failures import DocumentError, PageRenderError
from pipeline.documents.settings import IngestSettings
from pipeline.stages.discover import probe
from pipeline.stages.render import PageImage
from tests.faults.doubt import lost_pictures
from tests.faults.statuses.damaged import cut_and_ended, lost, sound
from tests.pipeline.documents.drawing import show

# Three short lines of print in arithmetic coding, 112 x 96 pixels, by cjpeg -grayscale -quality 12 -arithmetic.
ARITHMETIC = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wCDEABDAC4AMgA6ADIAKgBDADoANgA6AEsARwBDAE8AZACmAGwAZABcAFwAZADMAJIAmgB5"
    "AKYA8QDUAP4A+gDtANQA6QDlAQoBLAF/AUQBCgEbAWoBHwDlAOkBTQHFAVEBagGLAZgBrAGxAawBAgFAAdYB9wHSAaAB8wF/AaQB"
    "rAGc/8kACwgAYABwAQERAP/MAAYAEBAF/9oACAEBAAA/ANFFpr1PJiqkosrz3HJByw5bWK9IlV4yb47hbdebTX7eSY/dDG8pU+Xy"
    "XfGeu2VeaG/61XoH/wBUHJhtnhD5sNKQwUbvn+rK1Yr6HlQ0Zil+W6dGC0RIq67hFtzo7awg7Z+hHV8j+xGQrBXjlZwL7pK/yAKw"
    "OyZRsRU4/B/TcnJr5vSsG7q0r9wSYq+mmpjTiyIZeojCZbVA9v8ASG3MUoVMlh8l80yJ6RCJPLXN3EcdDG64tJVTA7caP4QACJpQ"
    "6X/zbLLxsjC12cwymUpGUJCdr3Gecp56CtGcw5pIch3ATc7LaG9aemdSJ4r2XAuXad2oB6rwVpNdBBmFqblyjsj1E4g4Ug1RGZZ9"
    "tg66RVbLho7YYqhRtMq8u4BFVc2bcZpP/slqA0r/AEBJrhpstrFnUk/MdKI7As2VjjgqpxGxNFkoOlbHObRypDxCIlFaxALS9+Bk"
    "8ZGsCcUQo5tJUp6ameYAuRE6opbcry7JRbVwKQzA44A+EhEAOJY9M6KKAWxAAx3NRb50KPj96IU9fN2VaRf+p5BktHAKDvVVxPFb"
    "pE6thLCol605pIib982fRbHfUG8EwjKayv2ObktYEy/RhAVg5m2Y2koFh2fHU9+VDLr34EkaE6fTAh60c/0Xq7LmM5gxt1eekNKw"
    "UwMr0WIrerSDp/8Al2D4ZNUhzxWKcr9ZohXUzp+F31noT/D+7nSYC3ButgUkOVLqXwGA/9k="
)
# One of each way to tell; the others, and all shares, are slow.
QUICK = re.compile(
    r"jpeg-(baseline|progressive|intervals)-0.5.(jpg|pdf)|(flate|fax|jbig2|png|png-adam7|old-jpeg)-0.5|jbig2-(cut|rotten)"
    r"|strip-cut|strips-raw|tiles-raw|jp2-lossless-0.5.jp2|strips-jpeg-halved"
)


def _drawn(path: Path) -> PageImage:
    found = probe(str(path), IngestSettings())
    if found.status != "ok":
        raise DocumentError(found.status, found.reason or "")
    return show(path)


def _missing(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    try:
        return _drawn(path).missing
    except (DocumentError, PageRenderError) as error:
        return str(error)


@pytest.mark.parametrize("name", [name for name in lost() if QUICK.match(name)])
def test_a_picture_that_is_half_lost_says_so(tmp_path: Path, name: str) -> None:
    assert _missing(tmp_path / name, lost()[name])


@pytest.mark.slow
def test_half_lost_pictures_in_every_codec_say_so(tmp_path: Path) -> None:
    others = {name: content for name, content in lost().items() if not QUICK.match(name)}
    silent = [name for name, content in others.items() if not _missing(tmp_path / name, content)]
    assert (silent, len(lost()) > 100) == ([], True)


@pytest.mark.slow
def test_whole_pictures_in_every_codec_lack_nothing(tmp_path: Path) -> None:
    assert len(sound()) > 60
    for name, content in sound().items():
        (tmp_path / name).write_bytes(content)
        drawn = _drawn(tmp_path / name)
        assert (name, drawn.missing, drawn.blank) == (name, "", False)


@pytest.mark.parametrize(
    "options", [{}, {"progressive": True}, {"restart_marker_blocks": 1}, {"optimize": True}]
)
@pytest.mark.parametrize("size", [(1, 1), (9, 7), (64, 64), (301, 200)])
def test_a_whole_jpeg_is_whole_however_even_it_is(size: tuple[int, int], options: dict[str, Any]) -> None:
    for shade in ("white", "black", "#e0c060"):
        made = io.BytesIO()
        Image.new("RGB", size, shade).save(made, "JPEG", **options)
        assert not jpeg_data.ends_early(made.getvalue())


def test_what_is_no_jpeg_is_not_judged() -> None:
    whole = lost_pictures.jpeg()
    for data in (b"", b"\xff\xd8\xff\xd9", whole[:300], bytes(5000)):
        assert not jpeg_data.ends_early(data)


def test_arithmetic_coding_is_read_and_its_early_end_seen(tmp_path: Path) -> None:
    assert not jpeg_data.ends_early(ARITHMETIC)
    assert all(jpeg_data.ends_early(cut_and_ended(ARITHMETIC, share)) for share in (0.5, 0.7, 0.9))
    (tmp_path / "a.jpg").write_bytes(ARITHMETIC)
    drawn = _drawn(tmp_path / "a.jpg")
    assert (drawn.pixels.shape, drawn.missing, drawn.blank) == ((96, 112, 3), "", False)
    assert "JPEG data is damaged" in _missing(tmp_path / "b.jpg", cut_and_ended(ARITHMETIC, 0.6))


def test_a_fax_has_as_many_rows_as_were_written() -> None:
    assert fax_rows(lost_pictures.fax(), lost_pictures.WIDTH_PX) == lost_pictures.HEIGHT_PX


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGB", "RGBA", "I;16"])
def test_a_png_of_any_kind_has_all_its_rows(mode: str) -> None:
    for size in ((1, 1), (7, 5), (131, 90)):
        made = io.BytesIO()
        Image.new(mode, size).save(made, "PNG")
        assert not png_ends_early(made.getvalue())
