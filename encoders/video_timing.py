"""A video's frames as they are handed to the encoder, and when they were shown. No torch, so workers start fast.

Source: transformers, processing_qwen3_vl.py and processing_qwen2_5_vl.py.
"""

from dataclasses import dataclass

from encoders.views import PageViews

# The published processors' assumption where a video does not say.
DEFAULT_RATE = 24.0


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoTiming:
    """The frames of a video that the model sees.

    rate: frames a second of the whole video. total: how many it has. indices: those taken, ascending, 0-based.
    """

    rate: float
    total: int
    indices: tuple[int, ...]

    @classmethod
    def of_every_frame(cls, num_frames: int, rate: float = DEFAULT_RATE) -> "VideoTiming":
        """Returns the timing of frames without gaps, such as a folder of pictures."""
        return cls(rate=rate, total=num_frames, indices=tuple(range(num_frames)))

    def stamps(self, temporal: int) -> list[float]:
        """Returns the time of each temporal patch in seconds: halfway between its first and its last frame."""
        short = -len(self.indices) % temporal
        indices = [*self.indices, *[self.indices[-1]] * short]
        seconds = [index / self.rate for index in indices]
        return [
            (seconds[start] + seconds[start + temporal - 1]) / 2 for start in range(0, len(seconds), temporal)
        ]

    def seconds_per_patch(self, temporal: int) -> float:
        """Returns the seconds from one temporal patch to the next (transformers' second_per_grid_ts)."""
        return temporal / (len(self.indices) / self.total * self.rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedViews(PageViews):
    """The frames of a video, in order: local_views; global_view is empty. timing: None where no times are known."""

    timing: VideoTiming | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameViews(PageViews):
    """The frames of a video, in order: local_views; global_view is empty and grid (1, 1).

    groups: of frames that share one set of queries, each frame by its temporal id: its time in tenths of a second, -1
        for none. Their lengths add up to the number of frames. Empty where each frame stands for itself.
    """

    groups: tuple[tuple[int, ...], ...] = ()
