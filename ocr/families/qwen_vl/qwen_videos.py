"""The views of a video for Qwen-VL: at most so many frames, of one size. Torch-free."""

from dataclasses import dataclass

from encoders.video_timing import TimedViews, VideoTiming
from encoders.views import UInt8Array
from ocr.families.qwen_vl.qwen_resizing import QwenResizing
from ocr.families.qwen_vl.video_timing import sampled


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
