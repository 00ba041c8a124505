from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from encoders.views import UInt8Array
from ocr.families.minicpm.video_slicing import video_slicing
from ocr.families.qwen_vl.qwen_resizing import QwenVideos, resizing_of
from pipeline.documents.failures import PageRenderError
from pipeline.documents.images import evenly
from pipeline.documents.videos import showing
from pipeline.documents.videos.showing import take
from tests.ocr.families.minicpm.tiny_minicpm import config_json
from tests.pipeline.documents.videos.made_videos import noise

MAX_PX = 1_000_000
_FEW_PX = {"size": {"shortest_edge": 4096, "longest_edge": 65536}}
QWEN3 = QwenVideos(resizing=resizing_of("qwen3_vl", {"patch_size": 16}, _FEW_PX))
QWEN2_5 = QwenVideos(resizing=resizing_of("qwen2_5_vl", {"min_pixels": 3136, "max_pixels": 50176}))
MINICPM = video_slicing(config_json("4.5"), packed=3)


@dataclass
class Made:
    """A video of frames in memory. ends: it breaks off there."""

    pixels: UInt8Array
    rate: float | None = None
    ends: int | None = None
    missing: str = ""
    num_decoded: int = 0

    @property
    def num_frames(self) -> int:
        return len(self.pixels)

    @property
    def width_px(self) -> int:
        return self.pixels.shape[2]

    @property
    def height_px(self) -> int:
        return self.pixels.shape[1]

    def frames(self, indices: Sequence[int], max_px: int) -> Iterator[UInt8Array]:
        for index in indices:
            if self.ends is not None and index >= self.ends:
                self.missing = "it breaks off"
                return
            self.num_decoded += 1
            yield self.pixels[index]

    def close(self) -> None: ...


def test_frames_without_a_rate_are_taken_at_even_distances() -> None:
    assert evenly(5, 768) == [0, 1, 2, 3, 4]
    assert evenly(100, 4) == [0, 33, 66, 99]
    assert evenly(1, 768) == [0]
    frames = noise(900, 10, 10)
    shown = take(Made(frames), QWEN3, MAX_PX)
    assert len(shown.frames) == 768
    assert shown.timing is None
    assert np.array_equal(shown.frames[[0, -1]], frames[[0, -1]])


def test_a_file_is_shown_as_the_family_was_trained() -> None:
    frames = noise(81)
    video = Made(frames, rate=16.0)
    shown = take(video, QWEN3, MAX_PX)  # two of five seconds each
    assert shown.timing is not None
    assert shown.timing.indices == (0, 9, 18, 27, 36, 44, 53, 62, 71, 80)
    assert (shown.timing.rate, shown.timing.total) == (16.0, 81)
    assert np.array_equal(shown.frames, frames[list(shown.timing.indices)])
    assert video.num_decoded == 10, "no other is looked at"
    odd = take(Made(noise(90), rate=16.0), QWEN2_5, MAX_PX)
    assert len(odd.frames) == 10, "an even number"


def test_groups_of_minicpm_have_the_times_of_the_file() -> None:
    assert MINICPM is not None
    shown = take(Made(noise(80), rate=16.0), MINICPM, MAX_PX)
    whole = MINICPM(shown.frames, shown.timing)
    assert sum(map(len, whole.groups)) == len(shown.frames) == 15  # type: ignore[attr-defined]
    cut = take(Made(noise(80), rate=16.0, ends=40), MINICPM, MAX_PX)
    assert cut.timing is not None
    assert cut.timing.total < 80
    views = MINICPM(cut.frames, cut.timing)
    assert sum(map(len, views.groups)) == len(views.local_views)  # type: ignore[attr-defined]


def test_what_breaks_off_is_shown_as_far_as_it_goes() -> None:
    video = Made(noise(80), rate=16.0, ends=40)
    shown = take(video, QWEN3, MAX_PX)
    assert shown.timing is not None
    assert len(shown.frames) == len(shown.timing.indices) == 5
    assert shown.timing.total == shown.timing.indices[-1] + 1
    assert len(QWEN3(shown.frames, shown.timing).local_views) == 5
    with pytest.raises(PageRenderError, match="it breaks off"):
        take(Made(noise(80), rate=16.0, ends=0), QWEN3, MAX_PX)


@pytest.mark.parametrize("maker", [QWEN3, QWEN2_5, MINICPM])
@pytest.mark.parametrize("size", [(480, 640), (1080, 1920), (700, 300)])
def test_many_large_frames_are_kept_as_small_as_they_are_seen(
    maker: QwenVideos, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = np.random.default_rng(0).integers(0, 256, (6, *size, 3), np.uint8)
    whole = take(Made(frames), maker, MAX_PX)
    assert np.array_equal(whole.frames, frames)
    monkeypatch.setattr(showing, "_MOST_PX", 1000)
    small = take(Made(frames), maker, MAX_PX)
    assert small.frames.nbytes < frames.nbytes / 2
    assert np.array_equal(maker(small.frames).local_views, maker(frames).local_views)


def test_without_a_maker_the_first_frame_is_a_picture() -> None:
    frames = noise(8)
    video = Made(frames, rate=8.0)
    shown = take(video, None, MAX_PX)
    assert np.array_equal(shown.frames, frames[:1])
    assert (shown.timing, video.num_decoded) == (None, 1)
