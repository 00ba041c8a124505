"""What makes the views of pages and videos, in worker processes: it imports nothing that only models need."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from PIL import Image

from encoders.video_timing import VideoTiming
from encoders.views import PageViews, UInt8Array
from ocr.imaging.planes import picture_of


class ViewMaker(Protocol):
    """Makes a page's views of its pixels, in a worker process: picklable, and equal if it makes the same views.

    most_px: the pixels of a page beyond which its views show no more of it.
    """

    @property
    def most_px(self) -> int: ...

    def __call__(self, pixels: UInt8Array, /) -> PageViews:
        """Returns the views of a page, [H, W, 3] uint8 RGB."""


class VideoMaker(Protocol):
    """Makes the views of a video, in a worker process: picklable. most_px: of all its frames together, as views.

    most_frames: it is shown at most so many; those of frames without a rate at even distances.
    """

    @property
    def most_px(self) -> int: ...
    @property
    def most_frames(self) -> int: ...

    def shown(self, num_frames: int, rate: float) -> tuple[int, ...]:
        """Returns which frames it shows of a video of so many, at a rate in frames a second: ascending, 0-based."""

    def frame_size(self, num_frames: int, height: int, width: int) -> tuple[int, int]:
        """Returns the (height, width) of frames as views; those that have it already are not resized."""

    def __call__(self, frames: UInt8Array, timing: VideoTiming | None = None, /) -> PageViews:
        """Returns the views of frames [T, H, W, 3] uint8 RGB. timing: theirs; None where no times are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholePage:
    """Makes one view of a page, [3, H, W], reduced to most_px pixels, for models whose own processor does the rest."""

    most_px: int

    def __call__(self, pixels: UInt8Array, /) -> PageViews:
        """Returns the view of a page, [H, W, 3] uint8 RGB."""
        picture = picture_of(pixels)
        factor = math.sqrt(self.most_px / (picture.width * picture.height))
        if factor < 1:
            size = max(1, int(picture.width * factor)), max(1, int(picture.height * factor))
            picture = picture.resize(size, Image.Resampling.LANCZOS)
        view = np.ascontiguousarray(np.asarray(picture.convert("RGB")).transpose(2, 0, 1))
        return PageViews(global_view=view)
