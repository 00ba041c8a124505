"""Compared with transformers' own helpers, which compute the same for a whole batch."""

import pytest
import torch
from torch.nn import functional
from transformers import vision_utils

from encoders.native.grid_plans import GridPlan, PatchGeometry, image_plan, video_plan
from tests.encoders.native.tiny_qwen import draw

GRIDS = [(2, 2), (2, 14), (14, 2), (6, 6), (8, 6), (10, 22), (26, 24), (34, 4)]
GEOMETRY = PatchGeometry(patch_px=4, merge=2, temporal=2, position_side=7, window=3)


def plans() -> list[tuple[GridPlan, torch.Tensor]]:
    """Plans with their (T, H, W)."""
    images = [(image_plan(GEOMETRY, *grid), torch.tensor([[1, *grid]])) for grid in GRIDS]
    videos = [
        (video_plan(GEOMETRY, frames, *grid), torch.tensor([[-(-frames // 2), *grid]]))
        for frames, grid in zip([1, 2, 3, 4, 5, 6, 8, 9], GRIDS, strict=True)
    ]
    return images + videos


def test_positions_and_sequences() -> None:
    for plan, grid in plans():
        expected = vision_utils.get_vision_position_ids(grid, 2)
        window_index, _ = vision_utils.get_vision_window_index(grid, 2, 24, 4)
        assert torch.equal(plan.positions.long(), expected.view(-1, 4, 2)[window_index].view(-1, 2))
        ends = functional.pad(plan.lengths.cumsum(0), (1, 0))
        assert torch.equal(ends, vision_utils.get_vision_cu_seqlens(grid).long())
        assert len(plan.longest) == grid[0, 1] * grid[0, 2]


def test_windows() -> None:
    for plan, grid in plans():
        window_index, ends = vision_utils.get_vision_window_index(grid, 2, 24, 4)
        assert plan.order is not None
        assert plan.window_lengths is not None
        assert torch.equal(plan.order.long(), window_index.argsort())
        assert torch.equal(functional.pad(plan.window_lengths.cumsum(0), (1, 0)), ends.long())


def test_without_windows_tokens_stay_in_order() -> None:
    geometry = PatchGeometry(patch_px=4, merge=2, temporal=2, position_side=7)
    for grid in GRIDS:
        plan = image_plan(geometry, *grid)
        expected = vision_utils.get_vision_position_ids(torch.tensor([[1, *grid]]), 2)
        assert torch.equal(plan.positions.long(), expected)
        assert plan.inputs().keys() == {"sources", "positions", "lengths", "longest", "taps", "tap_weights"}


@pytest.mark.parametrize("side", [7, 48])
def test_positions_are_interpolated_to_the_bit(side: int) -> None:
    geometry = PatchGeometry(patch_px=4, merge=2, temporal=2, position_side=side)
    for frames, grid in zip([1, 2, 3, 4, 5, 6, 8, 9], GRIDS, strict=True):
        plan = video_plan(geometry, frames, *grid)
        thw = torch.tensor([[-(-frames // 2), *grid]])
        taps, weights = vision_utils.get_vision_interpolation_indices_and_weights(
            thw, num_grid_per_side=side, align_corners=True, spatial_merge_size=2
        )
        assert plan.taps is not None
        assert plan.tap_weights is not None
        assert torch.equal(plan.taps.long(), taps)
        assert torch.equal(plan.tap_weights, weights)


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
