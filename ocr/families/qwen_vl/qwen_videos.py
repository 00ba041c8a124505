"""The views of a video for Qwen-VL: at most so many frames, of one size. Torch-free.

Source: transformers, video_processing_qwen3_vl.py; Qwen2.5-VL's vision_process.py (qwen-vl-utils), which takes an even
number of them.
"""

from dataclasses import dataclass

import numpy as np

from encoders.video_timing import DEFAULT_RATE, TimedViews, VideoTiming
from encoders.views import UInt8Array
from ocr.families.qwen_vl.qwen_resizing import QwenResizing


def sampled(
    total: int,
    rate: float = DEFAULT_RATE,
    *,
    per_second: float = 2.0,
    least: int = 4,
    most: int = 768,
    multiple: int = 1,
) -> VideoTiming:
    """Returns the frames that Qwen3-VL samples: evenly, per_second of them, within limits. All if there are few.

    multiple: their number is rounded down to one of this, as for Qwen2.5-VL, but for a video of fewer.
    """
    wanted = min(max(int(total / rate * per_second), least), most, total)
    wanted = max(wanted // multiple * multiple, min(multiple, total))
    indices = np.linspace(0, total - 1, wanted).round().astype(int)
    return VideoTiming(rate=rate, total=total, indices=tuple(indices.tolist()))


@dataclass(frozen=True, slots=True, kw_only=True)
class QwenVideos:
    """Makes a video's views. most_frames: as the published processors have it."""

    resizing: QwenResizing
    most_frames: int = 768

    @property
    def most_px(self) -> int:
        """The most pixels of all its frames together; a frame has a token's at least."""
        video = self.resizing.video
        least = self.most_frames * (self.resizing.patch_px * self.resizing.merge) ** 2
        return max(least, video.most if self.resizing.whole_videos else self.most_frames * video.most)

    def shown(self, num_frames: int, rate: float) -> tuple[int, ...]:
        """Returns the frames that it shows of a video: two a second."""
        multiple = 1 if self.resizing.whole_videos else self.resizing.temporal
        return sampled(num_frames, rate, most=self.most_frames, multiple=multiple).indices

    def frame_size(self, num_frames: int, height: int, width: int) -> tuple[int, int]:
        """Returns the (height, width) that frames are resized to. Raises ImageShapeError."""
        return self.resizing.video_size(num_frames, height, width)

    def __call__(self, frames: UInt8Array, timing: VideoTiming | None = None, /) -> TimedViews:
        """Returns the views of frames [T, H, W, 3] uint8 RGB. Raises ImageShapeError."""
        views = self.resizing.video_views(frames)
        return TimedViews(
            global_view=views.global_view, local_views=views.local_views, grid=views.grid, timing=timing
        )
