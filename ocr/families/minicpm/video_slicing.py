"""Chooses the frames of a video that a version is shown, and makes their views. Torch-free.

Source: the published examples, `encode_video` of MiniCPM-V-2_6 and MiniCPM-V-4 (one frame a second, 64 at most) and of
MiniCPM-V-4_5 (three a second, 180 groups of at most 3 frames; the model knows groups of up to 6).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

import numpy as np

from encoders.video_timing import VideoTiming
from encoders.views import PageViews, UInt8Array
from ocr.families.minicpm.slicing import SlicingRule
from ocr.families.minicpm.versions import Version, version_of

# A second has this many temporal ids.
_TENTHS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FramePlan:
    """indices: of the frames to show, ascending. groups: as FrameViews has them, empty where frames stand alone."""

    indices: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameRule:
    """How many frames a version is shown. most: groups, or frames where there are no groups.

    fps: frames a second wanted. packed: frames of a group at most, 0 for a version without temporal ids.
    """

    most: int
    fps: float
    packed: int = 0

    def plan(self, num_frames: int, video_fps: float) -> FramePlan:
        """Returns the frames to show of a video of num_frames at video_fps frames a second. Raises: ValueError."""
        if num_frames < 1 or not video_fps > 0:
            raise ValueError(f"a video of {num_frames} frames at {video_fps} a second has none to show")
        if not self.packed:
            step = max(1, round(video_fps / self.fps))
            indices = list(range(0, num_frames, step))
            spread = _spread(len(indices), self.most) if len(indices) > self.most else range(len(indices))
            return FramePlan(indices=tuple(indices[place] for place in spread))
        wanted, packed = self._packing(num_frames / video_fps, video_fps)
        indices = _spread(num_frames, wanted)
        times = _times(indices, num_frames, video_fps)
        groups = tuple(tuple(times[start : start + packed]) for start in range(0, len(times), packed))
        return FramePlan(indices=tuple(indices), groups=groups)

    def _packing(self, duration_s: float, video_fps: float) -> tuple[int, int]:
        """Returns how many frames to show, and how many of them a group has."""
        if self.fps * int(duration_s) <= self.most:
            return max(1, round(min(self.fps, round(video_fps)) * min(self.most, duration_s))), 1
        packed = math.ceil(duration_s * self.fps / self.most)
        if packed <= self.packed:
            return round(duration_s * self.fps), packed
        return self.most * self.packed, self.packed


# 2.5 is not made for videos.
RULES: dict[Version, FrameRule] = {
    "2.6": FrameRule(most=64, fps=1),
    "4.0": FrameRule(most=64, fps=1),
    "4.5": FrameRule(most=180, fps=3, packed=3),
}


def _spread(num: int, wanted: int) -> list[int]:
    """Returns `wanted` indices below num, each in the middle of an equal part."""
    gap = num / wanted
    return [int(place * gap + gap / 2) for place in range(wanted)]


def _times(indices: list[int], num_frames: int, video_fps: float) -> list[int]:
    """Returns the frames' temporal ids: the nearest tenth of a second within the video, the earlier of two."""
    scale = np.arange(0, num_frames / video_fps, 1 / _TENTHS)
    seconds = np.array(indices) / video_fps
    after = np.clip(np.searchsorted(scale, seconds), 1, max(1, len(scale) - 1))
    if len(scale) == 1:
        return [0] * len(indices)
    nearest = np.where(seconds - scale[after - 1] <= scale[after] - seconds, after - 1, after)
    ids: list[int] = (scale[nearest] / (1 / _TENTHS)).astype(np.int32).tolist()
    return ids


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
    rule = RULES.get(version_of(config))
    if rule is None:
        return None
    return VideoSlicing(slicing=SlicingRule.from_json(config), frames=rule, packed=packed)
