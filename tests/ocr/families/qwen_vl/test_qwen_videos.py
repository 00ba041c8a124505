from types import SimpleNamespace

import pytest
from transformers.models.qwen3_vl.processing_qwen3_vl import Qwen3VLProcessor
from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor
from transformers.video_utils import VideoMetadata

from encoders.video_timing import VideoTiming
from ocr.families.qwen_vl.qwen_resizing import sampled


@pytest.mark.parametrize("rate", [24.0, 29.97, 2.0, 0.5])
@pytest.mark.parametrize("total", [1, 2, 3, 7, 50, 301, 20000])
def test_frames_are_sampled_as_published(total: int, rate: float) -> None:
    settings = SimpleNamespace(fps=2, min_frames=4, max_frames=768)
    metadata = VideoMetadata(total_num_frames=total, fps=rate)
    expected = Qwen3VLVideoProcessor.sample_frames(settings, metadata).tolist()
    timing = sampled(total, rate)
    assert list(timing.indices) == expected
    metadata.frames_indices = expected
    assert timing.seconds_per_patch(2) == 2 / metadata.sampled_fps


@pytest.mark.parametrize("indices", [(0,), (0, 1), (0, 12, 24), (3, 9, 10, 40, 41)])
def test_stamps_are_those_of_the_processor(indices: tuple[int, ...]) -> None:
    timing = VideoTiming(rate=29.97, total=100, indices=indices)
    expected = Qwen3VLProcessor._calculate_timestamps(None, list(indices), 29.97, 2)
    assert timing.stamps(2) == expected


def test_every_frame_of_a_folder() -> None:
    timing = VideoTiming.of_every_frame(5, rate=2)
    assert timing.stamps(2) == [0.25, 1.25, 2.0]
    assert timing.seconds_per_patch(2) == 1.0


@pytest.mark.parametrize(
    ("total", "rate", "number"),
    [(1, 24.0, 1), (3, 24.0, 2), (70, 10.0, 14), (75, 10.0, 14), (9999, 1.0, 768)],
)
def test_qwen2_5_is_shown_an_even_number(total: int, rate: float, number: int) -> None:
    timing = sampled(total, rate, multiple=2)
    assert len(timing.indices) == number
    assert (timing.indices[0], timing.indices[-1]) == (0, total - 1 if total > 1 else 0)
