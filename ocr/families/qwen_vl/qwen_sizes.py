"""The sizes that Qwen-VL's processors resize to. Torch-free.

Source: transformers, smart_resize in image_processing_pil_qwen2_vl.py and in video_processing_qwen3_vl.py.
"""

import math
from dataclasses import dataclass

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
    _require_aspect(height, width)
    high, wide = round(height / token_px) * token_px, round(width / token_px) * token_px
    if high * wide > limits.most:
        return _shrunk(height, width, math.sqrt(height * width / limits.most), token_px)
    if high * wide < limits.least:
        return _grown(height, width, math.sqrt(limits.least / (height * width)), token_px)
    return high, wide


def smart_resize_video(
    num_frames: int, height: int, width: int, token_px: int, temporal: int, limits: PixelRange
) -> Size:
    """Returns the (height, width) of each of a video's frames, with limits on the pixels of all frames together.

    Raises ImageShapeError as smart_resize() does.
    """
    if height < token_px or width < token_px:
        scale = max(token_px / height, token_px / width)
        height, width = int(height * scale), int(width * scale)
    _require_aspect(height, width)
    high, wide = round(height / token_px) * token_px, round(width / token_px) * token_px
    pixels = round(num_frames / temporal) * temporal * high * wide
    if pixels > limits.most:
        return _shrunk(height, width, math.sqrt(num_frames * height * width / limits.most), token_px)
    if pixels < limits.least:
        return _grown(height, width, math.sqrt(limits.least / (num_frames * height * width)), token_px)
    return high, wide


def _require_aspect(height: int, width: int) -> None:
    if max(height, width) > _MOST_ASPECT * min(height, width):
        raise ImageShapeError(
            f"an image of {width} x {height} px is more than {_MOST_ASPECT} times as long as it is wide: cut it up"
        )


def _shrunk(height: int, width: int, factor: float, token_px: int) -> Size:
    """Returns sides divided by a factor, rounded down to whole tokens, at least one."""
    return (
        max(token_px, math.floor(height / factor / token_px) * token_px),
        max(token_px, math.floor(width / factor / token_px) * token_px),
    )


def _grown(height: int, width: int, factor: float, token_px: int) -> Size:
    """Returns sides multiplied by a factor, rounded up to whole tokens."""
    return (
        math.ceil(height * factor / token_px) * token_px,
        math.ceil(width * factor / token_px) * token_px,
    )
