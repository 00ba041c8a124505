"""The views of a video for Qwen-VL: at most so many frames, of one size. Torch-free."""

from dataclasses import dataclass

from encoders.views import PageViews, UInt8Array
from ocr.families.qwen_vl.qwen_resizing import QwenResizing


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

    def __call__(self, frames: UInt8Array, /) -> PageViews:
        """Returns the views of frames [T, H, W, 3] uint8 RGB. Raises ImageShapeError."""
        return self.resizing.video_views(frames)
