"""The views of a video for MiniCPM-V 2.6 and later: its frames, none of them cut into slices. Torch-free."""

from dataclasses import dataclass

from encoders.views import PageViews, UInt8Array
from ocr.families.minicpm.slicing import SlicingRule


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniCpmVideos:
    """Makes a video's views. most_frames: as the published examples of 2.6 have it; each has tokens of its own."""

    rule: SlicingRule
    most_frames: int = 64

    @property
    def most_px(self) -> int:
        """The most pixels of all its frames together: one may be a little larger than a slice's square."""
        return 2 * self.most_frames * self.rule.slice_px**2

    def __call__(self, frames: UInt8Array, /) -> PageViews:
        """Returns the views of frames [T, H, W, 3] uint8 RGB."""
        return self.rule.frames(frames)
