"""The frames of a video that Qwen-VL is shown. Torch-free.

Source: transformers, video_processing_qwen3_vl.py; Qwen2.5-VL's vision_process.py (qwen-vl-utils), which takes an even
number of them.
"""

import numpy as np

from encoders.video_timing import DEFAULT_RATE, VideoTiming


def sampled(
    total: int,
    rate: float = DEFAULT_RATE,
    *,
    per_second: float = 2.0,
    least: int = 4,
    most: int = 768,
    multiple: int = 1,
) -> VideoTiming:
    """Returns the frames that Qwen3-VL samples: evenly, per_second of them, within limits. All if there are few.

    multiple: their number is rounded down to one of this, as for Qwen2.5-VL, but for a video of fewer.
    """
    wanted = min(max(int(total / rate * per_second), least), most, total)
    wanted = max(wanted // multiple * multiple, min(multiple, total))
    indices = np.linspace(0, total - 1, wanted).round().astype(int)
    return VideoTiming(rate=rate, total=total, indices=tuple(indices.tolist()))
