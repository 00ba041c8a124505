"""Pages and videos to units, and outputs to tokens in prompt order."""

import pickle
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from encoders.graphs.errors import UnitError
from encoders.minicpm.slices_encoder import Placeholders, SlicesEncoder
from encoders.types import VisionTokens
from encoders.video_timing import FrameViews
from encoders.views import PageViews
from tests.encoders.minicpm.tiny_vision import noise, tiny_parts

NO_IMAGE = np.empty((3, 0, 0), np.uint8)


def video(num: int, groups: Sequence[Sequence[int]] = ()) -> FrameViews:
    frames = np.stack([noise((3, 5), seed).numpy() for seed in range(num)])
    return FrameViews(
        global_view=NO_IMAGE, local_views=frames, grid=(1, 1), groups=tuple(tuple(group) for group in groups)
    )


def encoded(encoder: SlicesEncoder, views: PageViews) -> VisionTokens:
    (units,) = encoder.units("slices", [views])
    (path,) = encoder.paths
    outputs = [path.forward(path.collate([unit], encoder.device)) for unit in units]
    (tokens,) = encoder.assemble([views], {"slices": [outputs]})
    return tokens


@pytest.mark.parametrize(("version", "sets"), [("2.6", 5), ("4.5", 2)])
def test_frames_stand_alone_or_in_groups_as_the_version_has_them(version: str, sets: int) -> None:
    encoder, _, _, plain = tiny_parts(version)
    groups = [[1, 4, 9], [12, 15]]
    views = pickle.loads(pickle.dumps(video(5, groups)))
    tokens = encoded(encoder, views)
    frames = [torch.from_numpy(frame) for frame in views.local_views]
    expected = plain(frames, groups if version == "4.5" else None)
    torch.testing.assert_close(tokens.tokens_TD, expected.flatten(0, 1), rtol=0, atol=1e-5)
    assert tokens.note == Placeholders(num_queries=4, num_frames=sets)
    alone = encoded(encoder, video(5))
    torch.testing.assert_close(alone.tokens_TD, plain(frames).flatten(0, 1), rtol=0, atol=1e-5)


def test_a_page_without_views_has_no_units() -> None:
    encoder, _, _, _ = tiny_parts("2.6")
    assert encoder.units("slices", [PageViews(), video(1)])[0] == []
    (tokens,) = encoder.assemble([PageViews()], {"slices": [[]]})
    assert tokens.tokens_TD.shape == (0, 256)


@pytest.mark.parametrize("groups", [[[1, 2]], [[1, 2], [3, 4]], [[1, 2, 3], []]])
def test_groups_that_are_not_the_frames_are_refused(groups: list[list[int]]) -> None:
    encoder, _, _, _ = tiny_parts("4.5")
    with pytest.raises(UnitError, match="temporal ids"):
        encoder.units("slices", [video(3, groups)])


def test_the_size_of_the_weights_is_all_of_them() -> None:
    encoder, vit, resampler, _ = tiny_parts("2.6")
    weights = [tensor for module in (vit, resampler) for tensor in (*module.parameters(), *module.buffers())]
    assert encoder.num_bytes == sum(weight.nbytes for weight in weights)
    assert encoder.device == torch.device("cpu")
    assert [str(tier) for tier in encoder.usual_axes["slices"]] == ["16", "32"]
