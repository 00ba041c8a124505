"""Makes the views of a video's frames as the version's published example shows them. Torch-free."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

from encoders.video_timing import VideoTiming
from encoders.views import PageViews, UInt8Array
from ocr.families.minicpm.slicing import SlicingRule
from ocr.families.minicpm.versions import version_of
from ocr.families.minicpm.video_frames import FrameRule, frame_rule


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoSlicing:
    """Makes views of frames; those without times as of a video with just as many a second as the version is shown.

    packed: frames of a group (4.5, `force_packing` of its example); None leaves it to the video's length.
    """

    slicing: SlicingRule
    frames: FrameRule
    packed: int | None = None

    @property
    def most_frames(self) -> int:
        """The most frames that it shows."""
        return self.frames.most * max(1, self.frames.packed)

    @property
    def most_px(self) -> int:
        """The most pixels of all its frames together: one may be a little larger than a slice's square."""
        return 2 * self.most_frames * self.slicing.slice_px**2

    def shown(self, num_frames: int, rate: float) -> tuple[int, ...]:
        """Returns the frames that the published example shows of a video. Raises: ValueError for none."""
        return self.frames.plan(num_frames, rate).indices

    def frame_size(self, num_frames: int, height: int, width: int) -> tuple[int, int]:
        """Returns the (height, width) of frames as views."""
        wide, high = self.slicing.fitted((width, height))
        return high, wide

    def __call__(self, frames: UInt8Array, timing: VideoTiming | None = None, /) -> PageViews:
        """Returns the views of frames [T, H, W, 3] uint8 RGB, of too many a selection. Raises: ValueError for none."""
        if timing is not None:  # the frames are those shown, or the first of them where the video breaks off
            groups = self.frames.plan(timing.total, timing.rate).groups
            return self.slicing.frames(frames, self._groups(_of_the_first(groups, len(frames))))
        plan = self.frames.plan(len(frames), self.frames.fps)
        return self.slicing.frames(frames[list(plan.indices)], self._groups(plan.groups))

    def _groups(self, groups: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        if self.packed is None or not groups:
            return groups
        times = tuple(chain.from_iterable(groups))
        return tuple(times[start : start + self.packed] for start in range(0, len(times), self.packed))


def _of_the_first(groups: tuple[tuple[int, ...], ...], num_frames: int) -> tuple[tuple[int, ...], ...]:
    """Returns the groups of a video's first frames."""
    starts = accumulate((len(group) for group in groups), initial=0)
    cut = (group[: max(0, num_frames - start)] for group, start in zip(groups, starts, strict=False))
    return tuple(group for group in cut if group)


def video_slicing(config: Mapping[str, Any], packed: int | None = None) -> VideoSlicing | None:
    """Returns what makes the views of videos by a config.json; None for a version that is not made for them.

    Raises: CheckpointError for values that make no sense.
    """
    rule = frame_rule(version_of(config))
    if rule is None:
        return None
    return VideoSlicing(slicing=SlicingRule.from_json(config), frames=rule, packed=packed)
