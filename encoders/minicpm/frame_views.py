"""A video's frames, as they are handed to the encoder: no torch, so that workers start fast."""

from dataclasses import dataclass

from encoders.views import PageViews


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameViews(PageViews):
    """The frames of a video, in order: local_views; global_view is empty and grid (1, 1).

    groups: of frames that share one set of queries, each frame by its temporal id: its time in tenths of a second, -1
        for none. Their lengths add up to the number of frames. Empty where each frame stands for itself.
    """

    groups: tuple[tuple[int, ...], ...] = ()
