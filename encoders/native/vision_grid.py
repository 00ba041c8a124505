"""The shape of one image or video, as the language model counts it. No torch."""

from dataclasses import dataclass
from typing import Literal

from encoders.video_timing import VideoTiming

Kind = Literal["image", "video"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionGrid:
    """The patches of one image or video.

    frames: temporal patches, each of two frames of a video; 1 for an image. rows, columns: of patches, multiples of
    merge. merge: side of the square of patches that becomes one token. timing: of a video whose times are known.
    """

    kind: Kind
    frames: int
    rows: int
    columns: int
    merge: int
    timing: VideoTiming | None = None

    @property
    def thw(self) -> tuple[int, int, int]:
        """(T, H, W) in patches, as transformers' image_grid_thw and video_grid_thw state it."""
        return self.frames, self.rows, self.columns

    @property
    def frame_tokens(self) -> int:
        """The tokens of one temporal patch."""
        return self.rows * self.columns // self.merge**2

    @property
    def num_tokens(self) -> int:
        return self.frames * self.frame_tokens
