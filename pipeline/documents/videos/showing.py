"""Opens a page's video and takes the frames that a model is shown, no others: a long one is never in memory whole."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from encoders.video_timing import VideoTiming
from encoders.views import UInt8Array
from ocr.families.view_makers import VideoMaker
from ocr.imaging import planes
from pipeline.documents import images
from pipeline.documents.failures import DocumentError, PageRenderError
from pipeline.documents.sniff import HEAD_BYTES, video_by_content
from pipeline.documents.videos.frame_folders import FrameFolder
from pipeline.documents.videos.video_files import VideoFile

# Frames that have more pixels than this together are kept in the size in which the model sees them.
_MOST_PX = 50_000_000


class Video(Protocol):
    """An opened video. rate: frames a second; None where that is not known, as of a folder.

    missing: after frames() a sentence that says what could not be decoded; "" where all was.
    """

    @property
    def rate(self) -> float | None: ...

    num_frames: int
    width_px: int
    height_px: int
    missing: str

    def frames(self, indices: Sequence[int], max_px: int) -> Iterator[UInt8Array]:
        """Yields these frames [H, W, 3] uint8 RGB, ascending; fewer where the video breaks off."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFrames:
    """The frames [T, H, W, 3] uint8 RGB. timing: None where no times are known."""

    frames: UInt8Array
    timing: VideoTiming | None


def take(video: Video, maker: VideoMaker | None, max_px: int) -> ShownFrames:
    """Returns the frames that a maker shows of a video; the first alone without a maker.

    max_px: of one frame. Raises: PageRenderError, also where not one of the frames can be decoded.
    """
    indices = _indices(video, maker)
    first, frames = None, np.empty((0, 0, 0, 3), np.uint8)
    num_taken, size = 0, (0, 0)
    for frame in video.frames(indices, max_px):
        if first is None:
            first = frame
            size = _kept_size(frame, len(indices), maker)
            frames = np.empty((len(indices), *size, 3), np.uint8)
        # A video may change its size on the way.
        if frame.shape[:2] != size:
            frame = planes.of_planes(planes.resized(planes.planes_of(frame), size[1], size[0]))
        frames[num_taken] = frame
        num_taken += 1
    if first is None:
        raise PageRenderError("broken", video.missing or "the video has no frame that can be decoded")
    return ShownFrames(
        frames=frames[:num_taken], timing=_timing(video, indices[:num_taken], len(indices), maker)
    )


def _indices(video: Video, maker: VideoMaker | None) -> list[int]:
    if maker is None:
        return [0]
    if video.rate is None:
        return images.evenly(video.num_frames, maker.most_frames)
    return list(maker.shown(video.num_frames, video.rate))


def _timing(
    video: Video, indices: Sequence[int], num_wanted: int, maker: VideoMaker | None
) -> VideoTiming | None:
    if video.rate is None or maker is None:
        return None
    # Of a video that breaks off, as much counts as there is.
    total = video.num_frames if len(indices) == num_wanted else indices[-1] + 1
    return VideoTiming(rate=video.rate, total=total, indices=tuple(indices))


def _kept_size(frame: UInt8Array, num_frames: int, maker: VideoMaker | None) -> tuple[int, int]:
    """Returns the (height, width) in which frames are kept: their own, or as views if they take too much memory."""
    height, width, _ = frame.shape
    if maker is None or num_frames * height * width <= _MOST_PX:
        return height, width
    high, wide = maker.frame_size(num_frames, height, width)
    return min(high, height), min(wide, width)


def open_video(path: str, frames: Sequence[str] = ()) -> Video:
    """Returns an opened video, which the caller closes. frames: the names of a folder's.

    Raises: DocumentError, OSError.
    """
    if os.path.isdir(path):
        return FrameFolder(path, frames)
    with open(path, "rb") as file:
        container = video_by_content(file.read(HEAD_BYTES))
    if container is None:
        raise DocumentError("broken", "not a video file that can be read")
    return VideoFile(path, container)
