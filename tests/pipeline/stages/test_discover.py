import gzip
import hashlib
import os
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import pymupdf
import pytest
from PIL import Image, TiffImagePlugin

from pipeline.documents import file_access
from pipeline.documents.failures import PageRenderError
from pipeline.documents.images import learn, open_image, read_frame, read_frames
from pipeline.documents.settings import IngestSettings
from pipeline.stages.discover import probe
from tests.pipeline.documents.videos.made_videos import noise, save_frames, save_video

SAMPLES = Path(__file__).parents[2] / "samples"
SETTINGS = IngestSettings()


def look(path, settings=SETTINGS):
    return probe(str(path), settings)


def save_pdf(path: Path, pages: int = 1, **options) -> Path:
    document = pymupdf.open()
    for number in range(pages):
        document.new_page().insert_text((72, 72), f"page {number}")
    document.save(path, **options)
    return path


@pytest.mark.parametrize(
    ("name", "kind", "pages"),
    [
        ("report.pdf", "pdf", 3),
        ("two-column.pdf", "pdf", 1),
        ("scanned.pdf", "pdf", 2),
        ("letter.png", "image", 1),
        ("photo.jpg", "image", 1),
        ("fax.tiff", "image", 3),
    ],
)
def test_samples(name, kind, pages):
    document = look(SAMPLES / name)
    content = (SAMPLES / name).read_bytes()
    assert (document.kind, document.num_pages, document.status, document.reason) == (kind, pages, "ok", None)
    assert document.sha256 == hashlib.sha256(content).hexdigest()
    assert document.size_bytes == len(content)
    assert document.seconds > 0


@pytest.mark.parametrize(
    "form", ["PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF", "JPEG2000", "HEIF", "AVIF", "PPM"]
)
def test_images_are_recognised_by_content_whatever_their_name(tmp_path, form):
    learn(form)
    for name in ("scan", "scan.pdf", "scan.txt"):
        Image.new("RGB", (60, 40), "white").save(tmp_path / name, form)
        document = look(tmp_path / name)
        assert (document.kind, document.status, document.num_pages) == ("image", "ok", 1)


def test_pdf_is_recognised_by_content_whatever_its_name(tmp_path):
    assert look(save_pdf(tmp_path / "a.dat")).kind == "pdf"


def test_pdf_may_begin_with_junk_if_it_is_named_so(tmp_path):
    content = b"junk from a mail gateway\r\n" + save_pdf(tmp_path / "a.pdf", 2).read_bytes()
    (tmp_path / "b.pdf").write_bytes(content)
    (tmp_path / "b.txt").write_bytes(content)
    assert look(tmp_path / "b.pdf").num_pages == 2
    assert look(tmp_path / "b.txt").status == "skipped"


def test_damaged_pdf_is_repaired(tmp_path):
    path = save_pdf(tmp_path / "a.pdf", 2)
    path.write_bytes(path.read_bytes()[:-200])
    assert look(path).num_pages == 2


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.pdf", b"", "named as a PDF file, but empty (0 bytes)"),
        ("a.jpeg", b"", "named as a JPEG file, but empty (0 bytes)"),
        ("a.pdf", b"\x00" * 4096, "named as a PDF file, but begins with nothing but zero bytes"),
        ("a.pdf", b"<!DOCTYPE html><p>403", "named as a PDF file, but begins with a web page"),
        ("a.tif", b"not at all", "named as a TIFF file, but begins with 'not at all'"),
        ("a.pdf", b"%PDF-1.4\n" + b"garbage " * 200, "not a readable PDF"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + b"garbage" * 20, "not a readable PNG image"),
        ("a.gif", b"GIF89a", "not a readable GIF image"),
        ("a.jp2", b"\xff\x4f\xff\x51\xff", "not a readable JPEG2000 image"),
        ("a", b"\xff\xd8\xff\xe0garbage", "not a readable JPEG image"),
    ],
)
def test_file_that_only_claims_to_be_an_input_is_broken(tmp_path, name, content, reason):
    (tmp_path / name).write_bytes(content)
    document = look(tmp_path / name)
    assert document.status == "broken"
    assert reason in str(document.reason)
    assert document.num_pages == 0
    assert document.sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.txt", b"text"), ("a", b""), ("a.md", b"A PDF begins with %PDF-1.7"), ("a.zip", b"PK")],
)
def test_unknown_file_is_skipped_unhashed(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    document = look(tmp_path / name)
    assert (document.status, document.kind, document.sha256) == ("skipped", None, None)
    assert document.reason


def test_password_makes_a_pdf_encrypted_but_an_owner_password_does_not(tmp_path):
    aes = pymupdf.PDF_ENCRYPT_AES_256
    locked = save_pdf(tmp_path / "a.pdf", encryption=aes, user_pw="user", owner_pw="owner")
    free = save_pdf(tmp_path / "b.pdf", encryption=aes, user_pw="", owner_pw="owner")
    assert (look(locked).status, look(locked).kind) == ("encrypted", "pdf")
    assert "password" in str(look(locked).reason)
    assert look(locked).sha256
    assert (look(free).status, look(free).num_pages) == ("ok", 1)


def test_pdf_without_pages_is_broken(tmp_path):
    content = (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
        b"trailer<</Root 1 0 R>>\n"
    )
    (tmp_path / "a.pdf").write_bytes(content)
    assert (look(tmp_path / "a.pdf").status, look(tmp_path / "a.pdf").num_pages) == ("broken", 0)


def png_header(width: int, height: int) -> bytes:
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = b"IDAT" + zlib.compress(b"")
    chunks = (struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in (header, data))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def test_pixel_bomb_is_refused_by_its_header(tmp_path):
    (tmp_path / "bomb.png").write_bytes(png_header(100_000, 100_000))
    document = look(tmp_path / "bomb.png")
    assert document.status == "broken"
    assert "10000 megapixels, over the limit of 200; raise ingest.max_image_pixels" in str(document.reason)
    Image.new("1", (60, 50)).save(tmp_path / "a.png")
    assert look(tmp_path / "a.png", IngestSettings(max_image_pixels=3000)).status == "ok"
    assert look(tmp_path / "a.png", IngestSettings(max_image_pixels=2999)).status == "broken"


def test_frames_of_an_animation_are_said_to_be_left_out(tmp_path):
    frames = [Image.new("RGB", (40, 40), colour) for colour in ("white", "red", "blue")]
    learn("HEIF")
    for form in ("GIF", "WEBP", "PNG", "AVIF", "HEIF", "TIFF", "MPO"):
        frames[0].save(tmp_path / form, form, save_all=True, append_images=frames[1:])
        found = look(tmp_path / form)
        is_animation = form not in ("TIFF", "MPO")
        assert (found.status, found.num_pages) == ("ok", 3 if form == "TIFF" else 1)
        assert (found.is_told, "first frame" in str(found.reason)) == (is_animation, is_animation)
        frames[0].save(tmp_path / f"one-{form}", form)
        assert look(tmp_path / f"one-{form}").reason is None


def test_thumbnails_in_a_tiff_are_not_pages(tmp_path):
    with TiffImagePlugin.AppendingTiffWriter(str(tmp_path / "a.tif"), True) as file:
        for size, kind in (((400, 300), 0), ((40, 30), 1), ((200, 300), 0), ((20, 30), 1)):
            Image.new("L", size).save(file, "TIFF", tiffinfo={254: kind})
            file.newFrame()
    assert look(tmp_path / "a.tif").num_pages == 2
    with open_image(str(tmp_path / "a.tif"), "TIFF") as image:
        assert [read_frame(image, index, 10**6)[0].shape[:2] for index in (0, 1)] == [(300, 400), (300, 200)]
        frames = read_frames(image, 10**6, 8)
        assert frames is not None
        assert frames.shape == (2, 300, 400, 3), "as a video neither"


def test_a_gzipped_pdf_is_read_to_a_limit(tmp_path, monkeypatch):
    content = save_pdf(tmp_path / "a.pdf", 2).read_bytes()
    for name, data in (
        ("a.pdf.gz", gzip.compress(content)), ("cut.pdf.gz", gzip.compress(content)[:-9]),
        ("junk.pdf.gz", b"\x1f\x8b\x08junk"), ("text.gz", gzip.compress(b"prose")), ("a", gzip.compress(content)),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(data)
    assert (look(tmp_path / "a.pdf.gz").num_pages, look(tmp_path / "a").num_pages) == (2, 2)
    assert "cannot be unpacked" in str(look(tmp_path / "cut.pdf.gz").reason)
    assert look(tmp_path / "junk.pdf.gz").status == "broken"
    assert look(tmp_path / "text.gz").status == "skipped"
    monkeypatch.setattr(file_access, "_MOST_BYTES", len(content) - 1)
    assert (look(tmp_path / "a.pdf.gz").status, "unpacks to more" in str(look(tmp_path / "a").reason)) == (
        "broken",
        True,
    )


@pytest.mark.parametrize(
    ("head", "channels", "most"),
    [(b"P4 9 2 ", 0, 0), (b"P5\n# made\n9 2\n255\n", 1, 255), (b"P6 9 2 255\n", 3, 255), (b"P7", 1, 1), (b"P7", 1, 255),
     (b"P7", 2, 255), (b"P7", 3, 65535), (b"P7", 4, 255)],
)  # fmt: skip
def test_portable_maps_are_read(tmp_path, head, channels, most):
    if head == b"P7":
        head = b"P7\n# made\nWIDTH 9\nHEIGHT 2\nDEPTH %d\nMAXVAL %d\nENDHDR\n" % (channels, most)
    num_bytes = 9 * 2 * channels * (2 if most > 255 else 1) or 4
    # White all over: in P4 a bit that is not set is white.
    (tmp_path / "a").write_bytes(
        head + (bytes([1 if most == 1 else 255]) * num_bytes if channels else bytes(4))
    )
    found = look(tmp_path / "a")
    assert (found.status, found.kind, found.num_pages) == ("ok", "image", 1)
    with open_image(str(tmp_path / "a"), "PAM" if head.startswith(b"P7") else "PPM") as image:
        pixels, _ = read_frame(image, 0, 10**6)
    assert (pixels.shape, int(pixels.min())) == ((2, 9, 3), 255)
    (tmp_path / "cut").write_bytes((tmp_path / "a").read_bytes()[:-3])
    cut = open_image(str(tmp_path / "cut"), "PAM" if head.startswith(b"P7") else "PPM")
    with pytest.raises(PageRenderError), cut:
        read_frame(cut, 0, 10**6)


def test_vanished_and_special_files_are_rows(tmp_path):
    assert look(tmp_path / "gone.pdf").status == "broken"
    assert "No such file" in str(look(tmp_path / "gone.pdf").reason)
    assert look(tmp_path / "gone.txt").status == "skipped"
    os.mkfifo(tmp_path / "pipe.pdf")
    assert look(tmp_path / "pipe.pdf").status == "skipped"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_without_permission_is_broken(tmp_path):
    path = save_pdf(tmp_path / "a.pdf")
    path.chmod(0)
    assert look(path).reason == "cannot be read: Permission denied"


READS_VIDEOS = IngestSettings(video=True)


def test_videos_are_one_page_where_they_are_asked_for_and_skipped_with_a_hint_elsewhere(tmp_path):
    path = save_video(tmp_path / "a.mp4", noise(4))
    found = look(path, READS_VIDEOS)
    assert (found.kind, found.num_pages, found.status) == ("video", 1, "ok")
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    skipped = look(path)
    assert (skipped.kind, skipped.status, skipped.sha256) == (None, "skipped", None)
    assert "ingest.video: true" in skipped.reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "named as a video file, but empty"), (b"<html>", "a web page"), (bytes(200), "nothing but zero")],
)
def test_what_is_a_video_by_name_only_is_broken(tmp_path, content, reason):
    (tmp_path / "a.mkv").write_bytes(content)
    found = look(tmp_path / "a.mkv", READS_VIDEOS)
    assert found.status == "broken"
    assert reason in found.reason
    assert look(tmp_path / "a.mkv").status == "skipped"


def test_large_videos_are_refused(tmp_path):
    path = save_video(tmp_path / "a.mp4", noise(4))
    found = look(path, replace(READS_VIDEOS, max_image_pixels=1000))
    assert found.status == "broken"
    assert "ingest.max_image_pixels" in found.reason


def test_a_folder_of_frames_is_one_page(tmp_path):
    folder, names = save_frames(tmp_path / "clip", noise(3)), tuple(f"frame{n}.png" for n in range(3))
    found = probe(str(folder), READS_VIDEOS, names)
    assert (found.kind, found.num_pages, found.status, found.frames) == ("video", 1, "ok", names)
    assert found.size_bytes == sum((folder / name).stat().st_size for name in names)
    (folder / "frame1.png").write_bytes((folder / "frame2.png").read_bytes())
    changed = probe(str(folder), READS_VIDEOS, names)
    assert changed.sha256 != found.sha256
    assert changed.stamp != found.stamp
    (folder / "frame1.png").write_text("no image")
    broken = probe(str(folder), READS_VIDEOS, names)
    assert (broken.status, broken.num_pages) == ("broken", 0)
    assert "frame1.png" in broken.reason
    (folder / "frame1.png").unlink()
    assert probe(str(folder), READS_VIDEOS, names).status == "broken"
