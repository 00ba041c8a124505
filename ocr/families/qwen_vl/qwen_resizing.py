"""Resizes images and frames as Qwen-VL's processors do: sides in whole tokens, pixels within limits. Torch-free.

Source: transformers, image_processing_pil_qwen2_vl.py, video_processing_qwen2_vl.py and video_processing_qwen3_vl.py,
whose smart_resize these are; Qwen2.5-VL's vision_process.py (qwen-vl-utils), which takes an even number of frames.
Images equal the processor without torchvision bit for bit. Frames have the sizes of the published video
processors, which resize with torchvision; here Pillow does, as for images. Pixels stay uint8: the encoder normalises.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from encoders.video_timing import DEFAULT_RATE, TimedViews, VideoTiming
from encoders.views import PageViews, UInt8Array
from ocr.errors import CheckpointError
from ocr.imaging.planes import is_grey, planes_of, resized
from ocr.model_files.locate import read_json

Size = tuple[int, int]

_MOST_ASPECT = 200


class ImageShapeError(ValueError):
    """An image is too narrow for the model; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PixelRange:
    """The least and the most pixels of what is resized."""

    least: int
    most: int


def smart_resize(height: int, width: int, token_px: int, limits: PixelRange) -> Size:
    """Returns the (height, width) in multiples of token_px nearest to an image's, within the limits on their product.

    Raises ImageShapeError for an image more than 200 times as long as it is wide, or the other way round.
    """
    return _within(1, height, width, token_px, 1, limits)


def smart_resize_video(
    num_frames: int, height: int, width: int, token_px: int, temporal: int, limits: PixelRange
) -> Size:
    """Returns the (height, width) of each of a video's frames, with limits on the pixels of all frames together.

    Raises ImageShapeError as smart_resize() does.
    """
    if height < token_px or width < token_px:
        scale = max(token_px / height, token_px / width)
        height, width = int(height * scale), int(width * scale)
    return _within(num_frames, height, width, token_px, temporal, limits)


def _within(
    num_frames: int, height: int, width: int, token_px: int, temporal: int, limits: PixelRange
) -> Size:
    """Returns the sides in whole tokens: the nearest, or so many fewer or more that the pixels of all frames fit."""
    if max(height, width) > _MOST_ASPECT * min(height, width):
        raise ImageShapeError(
            f"an image of {width} x {height} px is more than {_MOST_ASPECT} times as long as it is wide: cut it up"
        )
    high, wide = round(height / token_px) * token_px, round(width / token_px) * token_px
    pixels = round(num_frames / temporal) * temporal * high * wide
    if pixels > limits.most:
        factor = math.sqrt(num_frames * height * width / limits.most)
        high, wide = (max(1, math.floor(side / factor / token_px)) * token_px for side in (height, width))
    elif pixels < limits.least:
        factor = math.sqrt(limits.least / (num_frames * height * width))
        high, wide = (math.ceil(side * factor / token_px) * token_px for side in (height, width))
    return high, wide


_CLIP_MEAN, _CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


@dataclass(frozen=True, slots=True, kw_only=True)
class QwenResizing:
    """The preprocessing of one model: called with an image, it returns the image's views.

    patch_px, merge, temporal: side of a patch, patches a side of a token, frames in a patch. image: pixels of an image.
    video: pixels of one frame (Qwen2.5-VL), or of all frames together if whole_videos (Qwen3-VL). mean, std: of each
    channel for pixels from 0 to 1, which the encoder normalises with. kind: Pillow's filter.
    """

    patch_px: int
    merge: int
    temporal: int
    image: PixelRange
    video: PixelRange
    whole_videos: bool
    mean: tuple[float, ...]
    std: tuple[float, ...]
    kind: Image.Resampling = Image.Resampling.BICUBIC

    @property
    def most_px(self) -> int:
        """The pixels of an image beyond which its views show no more of it."""
        return self.image.most

    def __call__(self, pixels: UInt8Array, /) -> PageViews:
        """Returns the views of an image [H, W, 3] uint8 RGB. Raises ImageShapeError."""
        size = self.image_size(pixels.shape[0], pixels.shape[1])
        none = np.zeros((0, 3, 0, 0), np.uint8)
        return PageViews(global_view=self.resized(pixels, size), local_views=none, grid=(1, 1))

    def image_size(self, height: int, width: int) -> Size:
        """Returns the (height, width) that an image is resized to. Raises ImageShapeError."""
        return smart_resize(height, width, self.patch_px * self.merge, self.image)

    def resized(self, image: UInt8Array, size: Size) -> UInt8Array:
        """Returns [3, h, w] of an image [H, W, 3]."""
        planes = resized(planes_of(image[..., 0] if is_grey(image) else image), size[1], size[0], self.kind)
        return planes if len(planes) == 3 else np.repeat(planes, 3, axis=0)


def sampled(
    total: int, rate: float = DEFAULT_RATE, *, least: int = 4, most: int = 768, multiple: int = 1
) -> VideoTiming:
    """Returns the frames that Qwen3-VL samples: evenly, two a second, within limits. All if there are few.

    multiple: their number is rounded down to one of this, as for Qwen2.5-VL, but for a video of fewer.
    """
    wanted = min(max(int(total / rate * 2), least), most, total)
    wanted = max(wanted // multiple * multiple, min(multiple, total))
    indices = np.linspace(0, total - 1, wanted).round().astype(int)
    return VideoTiming(rate=rate, total=total, indices=tuple(indices.tolist()))


@dataclass(frozen=True, slots=True, kw_only=True)
class QwenVideos:
    """Makes a video's views: at most most_frames, as the published processors have it, of one size."""

    resizing: QwenResizing
    most_frames: int = 768

    @property
    def most_px(self) -> int:
        """The most pixels of all its frames together; a frame has a token's at least."""
        video = self.resizing.video
        least = self.most_frames * (self.resizing.patch_px * self.resizing.merge) ** 2
        return max(least, video.most if self.resizing.whole_videos else self.most_frames * video.most)

    def shown(self, num_frames: int, rate: float) -> tuple[int, ...]:
        """Returns the frames that it shows of a video: two a second."""
        multiple = 1 if self.resizing.whole_videos else self.resizing.temporal
        return sampled(num_frames, rate, most=self.most_frames, multiple=multiple).indices

    def frame_size(self, num_frames: int, height: int, width: int) -> Size:
        """Returns the (height, width) that frames are resized to. Raises ImageShapeError.

        A single frame counts as two, as it fills a patch; the published processor refuses it.
        """
        its = self.resizing
        token_px, temporal = its.patch_px * its.merge, its.temporal
        if not its.whole_videos:
            return smart_resize(height, width, token_px, its.video)
        return smart_resize_video(max(num_frames, temporal), height, width, token_px, temporal, its.video)

    def __call__(self, frames: UInt8Array, timing: VideoTiming | None = None, /) -> TimedViews:
        """Returns the views of frames [T, H, W, 3] uint8 RGB. Raises ImageShapeError.

        The encoder repeats the last frame where their number is odd.
        """
        size = self.frame_size(*frames.shape[:3])
        views = np.stack([self.resizing.resized(frame, size) for frame in frames])
        return TimedViews(
            global_view=np.zeros((3, 0, 0), np.uint8), local_views=views, grid=(1, 1), timing=timing
        )


def read_resizing(directory: Path, model_type: str) -> QwenResizing:
    """Returns the preprocessing of a model's directory. model_type: as in its config.json.

    Raises: CheckpointError without a preprocessor_config.json (or the processor_config.json that newer versions of
    transformers write), where it cannot be read, or where it demands what is not done here.
    """
    joint, own, video = (
        read_json(path) if (path := directory / f"{kind}_config.json").exists() else {}
        for kind in ("processor", "preprocessor", "video_preprocessor")
    )
    image = own or joint.get("image_processor")
    if image is None:
        raise CheckpointError(
            f"{directory} holds no preprocessor_config.json; fetch all files of the model again"
        )
    return resizing_of(model_type, image, video or joint.get("video_processor"))


def resizing_of(
    model_type: str, image: Mapping[str, Any], video: Mapping[str, Any] | None = None
) -> QwenResizing:
    """Returns the preprocessing that preprocessor_config.json and video_preprocessor_config.json state.

    Without the latter the former goes for videos as well, as in transformers. Raises: CheckpointError.
    """
    if not image.get("do_resize", True) or not image.get("do_normalize", True):
        raise CheckpointError("preprocessor_config.json turns resizing or normalising off, which it must not")
    whole_videos = model_type.startswith("qwen3")
    token_px = 32 if whole_videos else 28
    return QwenResizing(
        patch_px=image.get("patch_size", 14),
        merge=image.get("merge_size", 2),
        temporal=image.get("temporal_patch_size", 2),
        image=_range(image, PixelRange(least=56 * 56, most=28 * 28 * 1280)),
        video=_range(video or image, PixelRange(least=128 * token_px**2, most=768 * token_px**2)),
        whole_videos=whole_videos,
        mean=tuple(image.get("image_mean", _CLIP_MEAN)),
        std=tuple(image.get("image_std", _CLIP_STD)),
        kind=Image.Resampling(image.get("resample", Image.Resampling.BICUBIC)),
    )


def _range(config: Mapping[str, Any], default: PixelRange) -> PixelRange:
    """Returns the limits in a configuration, under its newer or older names; the older ones win where they are set."""
    size = config.get("size") or {}
    least = config.get("min_pixels") or size.get("shortest_edge") or size.get("min_pixels")
    most = config.get("max_pixels") or size.get("longest_edge") or size.get("max_pixels")
    return PixelRange(least=least or default.least, most=most or default.most)
