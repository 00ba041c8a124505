from pathlib import Path

import pytest

from pipeline.documents.sniff import HEAD_BYTES, video_by_content, video_by_name
from tests.pipeline.documents.videos.made_videos import noise, save_video


@pytest.mark.parametrize(
    ("name", "codec", "container"),
    [
        ("a.mp4", "mpeg4", "mov"),
        ("a.mov", "mpeg4", "mov"),
        ("a.mkv", "mpeg4", "matroska"),
        ("a.webm", "libvpx", "matroska"),
        ("a.avi", "mpeg4", "avi"),
        ("a.m2ts", "mpeg2video", "mpegts"),
        ("a.mpg", "mpeg2video", "mpeg"),
        ("a.wmv", "wmv2", "asf"),
        ("a.flv", "flv", "flv"),
    ],
)
def test_content_and_name_agree(name: str, codec: str, container: str, tmp_path: Path) -> None:
    path = save_video(tmp_path / name, noise(10), rate=25, codec=codec)
    assert video_by_content(path.read_bytes()[:HEAD_BYTES]) == container
    assert video_by_name(str(path)) == container


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"the free world",  # "free" where a box has its type
        b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00",
        b"\x00\x00\x00\x1cftypavif\x00\x00\x00\x00",
        b"\x00\x00\x00\x20ftypM4A \x00\x00\x00\x00",
        b"RIFF\x00\x00\x00\x00WEBPVP8 ",
        b"RIFF\x00\x00\x00\x00WAVEfmt ",
        b"G" * 10 + b" is no packet",
        b"#EXTM3U\nhttp://example.org/a.ts\n",
    ],
)
def test_what_is_no_video(head: bytes) -> None:
    assert video_by_content(head) is None
