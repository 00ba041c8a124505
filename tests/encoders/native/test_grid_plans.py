"""What a unit's plan is made of: transformers' helpers for a frame, and where its pixels lie."""

import pytest
import torch
from torch.nn import functional
from transformers import vision_utils

from encoders.native.grid_plans import PatchGeometry, image_plan, video_plan
from tests.encoders.native.tiny_qwen import draw

GRIDS = [(2, 2), (2, 14), (14, 2), (6, 6), (8, 6), (10, 22), (26, 24), (34, 4)]
GEOMETRY = PatchGeometry(patch_px=4, merge=2, temporal=2, position_side=7, window=3)


def test_each_temporal_patch_has_what_transformers_computes_for_the_whole() -> None:
    for frames, grid in zip([1, 2, 3, 4, 5, 6, 8, 9], GRIDS, strict=True):
        plan, whole = video_plan(GEOMETRY, frames, *grid), torch.tensor([[-(-frames // 2), *grid]])
        tokens, ends = vision_utils.get_vision_window_index(whole, 2, 24, 4)
        expected = vision_utils.get_vision_position_ids(whole, 2).view(-1, 4, 2)[tokens].view(-1, 2)
        assert torch.equal(plan.positions.long(), expected)
        cu_seqlens = functional.pad(plan.lengths.cumsum(0), (1, 0))
        assert torch.equal(cu_seqlens, vision_utils.get_vision_cu_seqlens(whole).long())
        assert len(plan.longest) == grid[0] * grid[1]
        assert plan.order is not None
        assert plan.window_lengths is not None
        assert torch.equal(plan.order.long(), tokens.argsort())
        assert torch.equal(functional.pad(plan.window_lengths.cumsum(0), (1, 0)), ends.long())


def test_without_windows_tokens_stay_in_order() -> None:
    geometry = PatchGeometry(patch_px=4, merge=2, temporal=2, position_side=7)
    for grid in GRIDS:
        plan = image_plan(geometry, *grid)
        expected = vision_utils.get_vision_position_ids(torch.tensor([[1, *grid]]), 2)
        assert torch.equal(plan.positions.long(), expected)
        assert plan.inputs().keys() == {"sources", "positions", "lengths", "longest", "taps", "tap_weights"}


@pytest.mark.parametrize("num_frames", [1, 2, 5])
def test_sources_name_every_pixel_of_a_patch(num_frames: int) -> None:
    """Read one by one, as the definition says."""
    frames = draw(num_frames, 3, 5)
    plan = video_plan(GEOMETRY, num_frames, 6, 10)
    runs = frames.view(-1, 4)
    for patch in (0, 7, 33, len(plan.sources) - 1):
        row_step, channel_step, *starts = plan.sources[patch].tolist()
        row, column = plan.positions[patch].tolist()
        for which, start in enumerate(starts):
            frame = min(2 * (patch // 60) + which, num_frames - 1)
            for channel in range(3):
                for line in range(4):
                    run = runs[start + channel * channel_step + line * row_step]
                    expected = frames[frame, channel, 4 * row + line, 4 * column : 4 * column + 4]
                    assert torch.equal(run, expected)
    image = image_plan(GEOMETRY, 6, 10)
    assert torch.equal(image.sources, plan.sources[:60, :3])


def test_plans_are_kept() -> None:
    assert image_plan(GEOMETRY, 4, 6) is image_plan(GEOMETRY, 4, 6)
    assert image_plan(GEOMETRY, 4, 6) is not image_plan(GEOMETRY, 6, 4)
