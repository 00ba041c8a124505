import numpy as np
import torch
from torch import Tensor

from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from encoders.native.native_encoder import NativeEncoder
from encoders.native.vision_grid import VisionGrid
from encoders.types import VisionTokens
from encoders.video_timing import TimedViews, VideoTiming
from encoders.views import PageViews
from tests.encoders.native.test_qwen_vision import close
from tests.encoders.native.tiny_qwen import draw, reference, tiny_vision


def image_page(frames: Tensor) -> PageViews:
    none = np.zeros((0, 3, 0, 0), np.uint8)
    return PageViews(global_view=frames[0].numpy(), local_views=none, grid=(1, 1))


def video_page(frames: Tensor) -> PageViews:
    none = np.zeros((3, 0, 0), np.uint8)
    return PageViews(global_view=none, local_views=frames.numpy(), grid=(1, 1))


def encoded(encoder: NativeEncoder, pages: list[PageViews]) -> list[VisionTokens]:
    manager = EncoderGraphManager(encoder.paths, GraphSettings(), encoder.device)
    outputs = {path.name: encoder.encode(manager, path.name, pages)[0] for path in encoder.paths}
    return encoder.assemble(pages, outputs)


def test_pages_of_all_kinds() -> None:
    vision = tiny_vision("qwen3")
    encoder = NativeEncoder(vision, videos=True)
    frames = [draw(1, 3, 4), draw(5, 2, 3), draw(1, 5, 2)]
    pages = [image_page(frames[0]), video_page(frames[1]), PageViews(), image_page(frames[2])]
    image, video, empty, last = encoded(encoder, pages)
    expected = reference(vision.module, frames)
    for mine, its in zip((image, video, last), expected, strict=True):
        assert close(mine.tokens_TD, its)
    assert empty.tokens_TD.shape == (0, vision.width)
    assert empty.note is None
    assert image.note == VisionGrid(kind="image", frames=1, rows=6, columns=8, merge=2)
    assert isinstance(video.note, VisionGrid)
    assert video.note.thw == (3, 4, 6)
    assert (video.note.frame_tokens, video.note.num_tokens) == (6, len(video.tokens_TD))
    assert encoded(encoder, []) == []


def test_units_of_a_path() -> None:
    encoder = NativeEncoder(tiny_vision("qwen2_5"), videos=True)
    pages = [image_page(draw(1, 3, 4)), video_page(draw(5, 2, 3)), PageViews()]
    assert [len(units) for units in encoder.units("image", pages)] == [1, 0, 0]
    assert [len(units) for units in encoder.units("video", pages)] == [0, 1, 0]
    assert encoder.units("video", pages)[1][0].items == 3


def test_weights_are_counted_once() -> None:
    vision = tiny_vision("qwen3")
    encoder = NativeEncoder(vision, videos=True)
    tensors = [*vision.module.parameters(), *vision.module.buffers()]
    assert encoder.num_bytes == sum(tensor.nbytes for tensor in tensors)
    assert encoder.device == torch.device("cpu")
    assert list(encoder.usual_axes) == ["image", "video"]


def test_a_videos_times_come_with_its_tokens() -> None:
    encoder = NativeEncoder(tiny_vision("qwen3"), videos=True)
    plain = video_page(draw(5, 2, 3))
    timing = VideoTiming(rate=8.0, total=40, indices=(0, 10, 20, 30, 39))
    timed = TimedViews(
        global_view=plain.global_view, local_views=plain.local_views, grid=plain.grid, timing=timing
    )
    for page, expected in ((timed, timing), (plain, None)):
        (tokens,) = encoded(encoder, [page])
        assert isinstance(tokens.note, VisionGrid)
        assert tokens.note.timing == expected
