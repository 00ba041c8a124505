"""Makes small videos, and reads them as plainly as can be."""

from collections.abc import Sequence
from pathlib import Path

import av
import numpy as np
from PIL import Image

from encoders.views import UInt8Array


def noise(num_frames: int = 32, height: int = 30, width: int = 40, seed: int = 0) -> UInt8Array:
    """Returns frames [T, H, W, 3] of coarse noise, each unlike the others also after lossy coding."""
    random = np.random.default_rng(seed)
    coarse = random.integers(0, 256, (num_frames, -(-height // 10), -(-width // 10), 3), np.uint8)
    return coarse.repeat(10, 1).repeat(10, 2)[:, :height, :width]


def save_video(
    path: Path, frames: UInt8Array, rate: int = 8, codec: str = "mpeg4", *, gop: int = 12, begins_s: int = 0
) -> Path:
    """Encodes frames. gop: frames from one key frame to the next. begins_s: the time of the first frame."""
    with av.open(str(path), "w") as file:
        stream = file.add_stream(codec, rate=rate)
        stream.width, stream.height, stream.pix_fmt = frames.shape[2], frames.shape[1], "yuv420p"
        stream.codec_context.gop_size = gop
        for number, pixels in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = begins_s * rate + number, 1 / stream.codec_context.framerate
            file.mux(stream.encode(frame))
        file.mux(stream.encode())
    return path


def decoded(path: Path) -> UInt8Array:
    """Returns all frames of a file [T, H, W, 3]."""
    with av.open(str(path)) as file:
        return np.stack([frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)])


def save_frames(folder: Path, frames: UInt8Array, names: Sequence[str] | None = None) -> Path:
    """Saves frames as lossless pictures; by default named so that their order is not that of letters."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, pixels in enumerate(frames):
        Image.fromarray(pixels).save(folder / (f"frame{number}.png" if names is None else names[number]))
    return folder
