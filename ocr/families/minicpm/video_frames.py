"""Chooses the frames of a video that a version is shown, and those that share tokens. Torch-free.

Source: the published examples, `encode_video` of MiniCPM-V-2_6 and MiniCPM-V-4 (one frame a second, 64 at most) and of
MiniCPM-V-4_5 (three a second, 180 groups of at most 3 frames; the model knows groups of up to 6).
"""

import math
from dataclasses import dataclass

import numpy as np

from ocr.families.minicpm.versions import Version

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


_RULES: dict[Version, FrameRule] = {
    "2.6": FrameRule(most=64, fps=1),
    "4.0": FrameRule(most=64, fps=1),
    "4.5": FrameRule(most=180, fps=3, packed=3),
}


def frame_rule(version: Version) -> FrameRule | None:
    """Returns the rule of a version; None for 2.5, which is not made for videos."""
    return _RULES.get(version)


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
