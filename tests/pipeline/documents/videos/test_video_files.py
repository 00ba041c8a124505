import builtins
import tracemalloc
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from pipeline.documents.failures import DocumentError, PageRenderError
from pipeline.documents.sniff import Container
from pipeline.documents.videos import video_files
from pipeline.documents.videos.showing import open_video
from pipeline.documents.videos.video_files import VideoFile
from tests.pipeline.documents.videos.made_videos import decoded, noise, save_video

MAX_PX = 1_000_000


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("a.mp4", "libx264"),
        ("a.mov", "mpeg4"),
        ("a.mkv", "mpeg4"),
        ("a.webm", "libvpx"),
        ("a.avi", "mpeg4"),
        ("a.m2ts", "mpeg2video"),
        ("caf\udce9.mp4", "libx264"),
    ],
)
def test_the_wanted_frames_and_no_others(name: str, codec: str, tmp_path: Path) -> None:
    made = save_video(tmp_path / f"made{Path(name).suffix}", noise(), rate=25, codec=codec)
    path = made.rename(made.with_name(name))
    video = open_video(str(path))
    assert (video.num_frames, video.rate, video.width_px, video.height_px) == (32, 25, 40, 30)
    wanted = [0, 3, 4, 17, 31]
    found = list(video.frames(wanted, MAX_PX))
    assert np.array_equal(np.stack(found), decoded(path)[wanted])
    assert video.missing == ""
    video.close()


@pytest.mark.parametrize("gop", [5, 200])
@pytest.mark.parametrize("begins_s", [0, 7])
def test_frames_far_apart_are_sought(
    gop: int, begins_s: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also from a key frame that lies behind."""
    path = save_video(tmp_path / "a.mkv", noise(200), rate=8, gop=gop, begins_s=begins_s)
    monkeypatch.setattr(video_files, "_SEEK_S", 2.0)
    video = open_video(str(path))
    wanted = [0, 9, 30, 31, 120, 199]
    assert np.array_equal(np.stack(list(video.frames(wanted, MAX_PX))), decoded(path)[wanted])


def test_a_long_video_is_never_in_memory_whole(tmp_path: Path) -> None:
    path = save_video(tmp_path / "a.mp4", noise(100, 240, 320), rate=25)
    video = open_video(str(path))
    assert len(list(video.frames([0], MAX_PX))) == 1
    tracemalloc.start()
    for frame in video.frames([0, 50, 99], MAX_PX):
        assert frame.nbytes == 240 * 320 * 3
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20 * frame.nbytes


@pytest.mark.parametrize(("name", "codec"), [("a.mkv", "mpeg4"), ("a.webm", "libvpx"), ("a.avi", "mpeg4")])
def test_a_truncated_file_gives_the_frames_it_has(name: str, codec: str, tmp_path: Path) -> None:
    path = save_video(tmp_path / name, noise(32, 120, 160), codec=codec)
    whole = decoded(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    video = open_video(str(path))
    found = list(video.frames(range(32), MAX_PX))
    assert 4 < len(found) < 30
    assert np.array_equal(np.stack(found[:-1]), whole[: len(found) - 1])
    assert video.missing.startswith("not all of the video can be decoded: it breaks off after ")
    assert "of 4.0 s" in video.missing


def test_damage_within_a_file_is_noticed(tmp_path: Path) -> None:
    path = save_video(tmp_path / "a.mp4", noise(32, 60, 80), codec="libx264")
    content = bytearray(path.read_bytes())
    third = len(content) // 3
    content[third : third + 400] = bytes(255 - byte for byte in content[third : third + 400])
    path.write_bytes(content)
    video = open_video(str(path))
    list(video.frames(range(32), MAX_PX))
    assert video.missing.startswith("not all of the video can be decoded")


@pytest.mark.parametrize(
    "content", [b"\x00\x00\x00\x18ftypisom" + bytes(100), b"\x1a\x45\xdf\xa3" + bytes(50)]
)
def test_what_cannot_be_opened_says_so(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(content)
    with pytest.raises(DocumentError, match=r"^the video (cannot be opened|has no|cannot be read)"):
        open_video(str(path))


def test_an_mp4_without_its_end_cannot_be_opened(tmp_path: Path) -> None:
    path = save_video(tmp_path / "a.mp4", noise())
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DocumentError, match="the video cannot be opened") as caught:
        open_video(str(path))
    assert caught.value.status == "broken"


def test_large_frames_are_refused(tmp_path: Path) -> None:
    video = open_video(str(save_video(tmp_path / "a.mp4", noise(4))))
    with pytest.raises(PageRenderError, match=r"ingest\.max_image_pixels"):
        list(video.frames([0], 1000))


def test_sound_alone_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    with av.open(str(path), "w") as file:
        stream = file.add_stream("aac", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 8000
        file.mux(stream.encode(frame))
        file.mux(stream.encode())
    with pytest.raises(DocumentError, match="sound without pictures") as caught:
        open_video(str(path))
    assert caught.value.status == "skipped"


@pytest.mark.parametrize("container", ["mov", "matroska"])
def test_a_playlist_under_another_name_is_not_followed(container: Container, tmp_path: Path) -> None:
    save_video(tmp_path / "secret.mp4", noise(4))
    path = tmp_path / "a.mp4"
    path.write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{tmp_path}/secret.mp4\n#EXT-X-ENDLIST\n")
    with pytest.raises(DocumentError, match="cannot be opened"):
        VideoFile(str(path), container)


def test_without_pyav_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save_video(tmp_path / "a.mp4", noise(4))
    real = builtins.__import__

    def imported(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "av":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", imported)
    with pytest.raises(DocumentError, match="pip install av"):
        open_video(str(path))


def test_a_turned_video_is_upright(tmp_path: Path) -> None:
    """As telephones write it: the pixels lie, and a matrix says how they are to be turned."""
    path = save_video(tmp_path / "a.mp4", noise(4))
    upright = decoded(path)
    identity = np.array([1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30], ">i4").tobytes()
    clockwise = np.array([0, 1 << 16, 0, -(1 << 16), 0, 0, 40 << 16, 0, 1 << 30], ">i4").tobytes()
    content = path.read_bytes()
    track = content.index(b"tkhd")
    at = content.index(identity, track)
    path.write_bytes(content[:at] + clockwise + content[at + len(identity) :])
    video = open_video(str(path))
    found = list(video.frames([0, 3], MAX_PX))
    assert np.array_equal(found[0], np.rot90(upright[0], -1))
    assert np.array_equal(found[1], np.rot90(upright[3], -1))
