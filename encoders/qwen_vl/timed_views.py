"""A video's frames with their times, as they are handed to the encoder: no torch, so that workers start fast."""

from dataclasses import dataclass

from encoders.video_timing import VideoTiming
from encoders.views import PageViews


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedViews(PageViews):
    """The frames of a video, in order: local_views; global_view is empty. timing: None where no times are known."""

    timing: VideoTiming | None = None
