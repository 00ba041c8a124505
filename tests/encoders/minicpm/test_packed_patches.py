from collections.abc import Sequence

import pytest
import torch
from torch.nn import functional

from encoders.graphs.errors import UnitError
from encoders.minicpm.packed_patches import (
    collected,
    normalised,
    padded_positions,
    position_ids,
    size_of,
    valid_patches,
)
from encoders.minicpm.slice_paths import Tier
from tests.encoders.minicpm.plain import PlainVit
from tests.encoders.minicpm.tiny_vision import noise, tiny_config, tiny_parts


def test_patches_lie_in_rows_as_a_convolution_reads_them() -> None:
    grids = [(3, 5), (2, 1), (5, 3)]
    slices = [noise(grid, seed) for seed, grid in enumerate(grids)]
    runs = torch.cat([pixels.reshape(-1, 4) for pixels in slices])
    starts = [0, 3 * 5 * 12, (3 * 5 + 2) * 12]
    packed = collected(runs, ints([*starts, 0]), ints([*grids, (0, 0)]), 20)
    assert packed.shape == (4, 20, 48)
    for pixels, its, (rows, columns) in zip(slices, packed, grids, strict=False):
        unfolded = functional.unfold(pixels[None].float(), 4, stride=4)[0].T
        assert torch.equal(its[: rows * columns].float(), unfolded)
        assert torch.equal(its[rows * columns :], its[:1].expand(20 - rows * columns, -1)), (
            "only its own pixels"
        )


def ints(values: Sequence[int] | Sequence[tuple[int, int]]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


@pytest.mark.parametrize("size", [(12, 14), (0, 4), (20, 20)])
def test_slices_that_do_not_fit_are_refused(size: tuple[int, int]) -> None:
    (path,) = tiny_parts("2.6")[0].paths
    with pytest.raises(UnitError, match=r"patches|whole"):
        path._unit(torch.zeros(1, 3, *size, dtype=torch.uint8), [-1], Tier(16))


def test_what_is_cached_is_that_of_its_size() -> None:
    assert padded_positions(3, 2, 7, 8).tolist() == [[*position_ids(3, 2, 7).tolist(), 0, 0]]
    assert (size_of(3, 2).tolist(), size_of(2, 3).tolist()) == ([[3, 2]], [[2, 3]])


@pytest.mark.parametrize("side", [7, 70])
def test_positions_equal_those_of_loops(side: int) -> None:
    """All counts that a side of a slice has, where a boundary is hit and where not."""
    vit = PlainVit(tiny_config("2.6"))
    vit.config = tiny_config("2.6")
    for rows, columns in [(count, count + 1) for count in range(1, 80, 2)] + [(1, 1024), (27, 38), (333, 2)]:
        assert torch.equal(position_ids(rows, columns, 7).long(), vit.position_ids(rows, columns))
    ids = position_ids(70, 35, 70).view(70, 35)
    assert len(ids[:, 0].unique()) >= 69, "one row of the table a row of patches, but for rounding"
    assert int(ids.max()) < 70 * 70


def test_pixels_are_normalised_to_the_rounding_of_published_code() -> None:
    pixels = torch.arange(256, dtype=torch.uint8)
    expected = (pixels.float() / 255 - 0.5) / 0.5
    assert (normalised(pixels, torch.float32) - expected).abs().max() < 2e-7
    assert torch.equal(normalised(pixels, torch.bfloat16)[[0, 255]].float(), torch.tensor([-1.0, 1.0]))


def test_every_slice_has_a_valid_patch() -> None:
    sizes = torch.tensor([[2, 3], [0, 0], [1, 1], [2, 4]], dtype=torch.int32)
    expected = torch.tensor([6, 1, 1, 8])
    valid = valid_patches(sizes, 8)
    assert torch.equal(valid, torch.arange(8) < expected[:, None])
