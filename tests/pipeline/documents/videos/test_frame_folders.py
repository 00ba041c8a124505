import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pipeline.documents.failures import DocumentError, PageRenderError
from pipeline.documents.open_files import Content
from pipeline.documents.videos.frame_folders import (
    FrameFolder,
    natural_order,
    sha256_of,
    stamp_of,
)
from pipeline.types import Page
from tests.pipeline.documents.videos.made_videos import noise, save_frames

MAX_PX = 1_000_000
NAMES = tuple(f"frame{number}.png" for number in range(12))


def test_names_are_ordered_as_people_count() -> None:
    names = ["b1.png", "a10.png", "A2.png", "a2.png", "a02.png", "1.png", "10.jpg", "9.png"]
    expected = ["1.png", "9.png", "10.jpg", "A2.png", "a02.png", "a2.png", "a10.png", "b1.png"]
    assert sorted(names, key=natural_order) == expected


def test_frames_are_the_pictures_pixels(tmp_path: Path) -> None:
    frames = noise(12)
    folder = FrameFolder(str(save_frames(tmp_path / "clip", frames)), NAMES)
    assert (folder.num_frames, folder.width_px, folder.height_px, folder.rate) == (12, 40, 30, None)
    assert np.array_equal(np.stack(list(folder.frames([0, 5, 11], MAX_PX))), frames[[0, 5, 11]])


def test_the_hash_is_of_contents_in_their_order(tmp_path: Path) -> None:
    frames = noise(3)
    one = str(save_frames(tmp_path / "one", frames, ["a.png", "b.png", "c.png"]))
    other = str(save_frames(tmp_path / "other", frames, ["1.png", "2.png", "10.png"]))
    first = sha256_of(one, ["a.png", "b.png", "c.png"])
    assert sha256_of(other, ["1.png", "2.png", "10.png"]) == first
    assert sha256_of(other, ["1.png", "10.png", "2.png"]) != first
    assert sha256_of(one, ["a.png", "b.png"]) != first


def test_mixed_and_unreadable_frames_are_named(tmp_path: Path) -> None:
    folder = save_frames(tmp_path / "clip", noise(12))
    Image.new("RGB", (30, 40)).save(folder / "frame7.png")
    with pytest.raises(DocumentError, match=r"frame7\.png is 30 x 40 px, frame0\.png 40 x 30"):
        FrameFolder(str(folder), NAMES)
    (folder / "frame7.png").write_text("<html>not found</html>")
    with pytest.raises(DocumentError, match=r"^frame frame7\.png: not an image: begins with a web page"):
        FrameFolder(str(folder), NAMES)
    (folder / "frame7.png").write_bytes(b"")
    with pytest.raises(DocumentError, match="empty"):
        FrameFolder(str(folder), NAMES)
    Image.new("RGB", (40, 30)).save(
        folder / "frame7.png", format="GIF", save_all=True, append_images=[Image.new("RGB", (40, 30), "red")]
    )
    with pytest.raises(DocumentError, match="has several frames itself"):
        FrameFolder(str(folder), NAMES)
    with pytest.raises(DocumentError, match="no image"):
        FrameFolder(str(folder), ())


def test_a_frame_that_breaks_off_fails_the_page_by_its_name(tmp_path: Path) -> None:
    folder = save_frames(
        tmp_path / "clip", np.random.default_rng(0).integers(0, 256, (12, 30, 40, 3), np.uint8)
    )
    broken = folder / "frame5.png"
    broken.write_bytes(broken.read_bytes()[: broken.stat().st_size // 2])
    opened = FrameFolder(str(folder), NAMES)
    with pytest.raises(PageRenderError, match=r"^frame frame5\.png: the image cannot be decoded") as caught:
        list(opened.frames(range(12), MAX_PX))
    assert caught.value.category == "broken"


def test_changed_frames_are_noticed(tmp_path: Path) -> None:
    folder = save_frames(tmp_path / "clip", noise(12))
    stamp, sha256 = stamp_of(str(folder), NAMES), sha256_of(str(folder), NAMES)
    page = Page(path=str(folder), sha256=sha256, kind="video", page_index=0, stamp=stamp, frames=NAMES)
    content = Content(page)
    os.utime(folder / "frame3.png")
    content.check()  # only touched
    before = (folder / "frame3.png").read_bytes()
    (folder / "frame3.png").write_bytes((folder / "frame4.png").read_bytes())
    with pytest.raises(PageRenderError, match="changed"):
        content.check()
    (folder / "frame3.png").write_bytes(before)
    content.check()
    (folder / "frame9.png").unlink()
    with pytest.raises(PageRenderError, match="changed"):
        content.check()
