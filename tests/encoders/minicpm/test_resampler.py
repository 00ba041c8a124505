"""The resampler against the plain one, slice by slice and group by group."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from encoders.minicpm.resampler import Resampler
from tests.encoders.minicpm.plain import PlainVision
from tests.encoders.minicpm.tiny_vision import GRIDS, tiny_parts

CAP = 70
# Groups of 1 to 6 frames, of mixed lengths; far apart, hours into a video, at the same time, and without a time.
GROUPS = [[0], [3, 5, 8], [-1], [71999, 40000], [7, 7, 7, 8, 9, 30], [-1, 4], [1, 2, 3, 4], [0, 1, 2, 3, 5]]
TIMES = torch.tensor([time for group in GROUPS for time in group], dtype=torch.int32)


def features(grids: list[tuple[int, int]], seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(rows * columns, 24, generator=generator) for rows, columns in grids]


def padded(features: list[Tensor], fill: float = 0.0) -> Tensor:
    out = torch.full((len(features), CAP, 24), fill)
    for row, feature in zip(out, features, strict=True):
        row[: len(feature)] = feature
    return out


def members(groups: list[list[int]], frames: int = 6) -> Tensor:
    table, start = torch.full((len(groups), frames), -1, dtype=torch.int32), 0
    for row, times in zip(table, groups, strict=True):
        row[: len(times)] = torch.arange(start, start + len(times))
        start += len(times)
    return table


def parts(version: str) -> tuple[Resampler, PlainVision]:
    _, _, resampler, plain = tiny_parts(version, seed=3)
    return resampler, plain


def frames_of(groups: list[list[int]]) -> list[tuple[int, int]]:
    """Returns grids for the frames: of one size in most groups, of several in the fourth."""
    grids: list[tuple[int, int]] = []
    for place, times in enumerate(groups):
        grids += GRIDS[: len(times)] if place == 3 else [GRIDS[place]] * len(times)
    return grids


@pytest.mark.parametrize("fill", [torch.nan, torch.inf, 1e30])
def test_what_lies_behind_a_slice_is_not_read(fill: float) -> None:
    resampler, _ = parts("2.6")
    given, sizes = features(GRIDS), torch.tensor(GRIDS, dtype=torch.int32)
    assert torch.equal(resampler(padded(given, fill), sizes), resampler(padded(given), sizes))


def test_groups_of_frames_equal_the_plain_resampler() -> None:
    resampler, plain = parts("4.5")
    grids = frames_of(GROUPS)
    given, sizes = features(grids), torch.tensor(grids, dtype=torch.int32)
    expected = plain.resampler(given, grids, GROUPS)
    tokens = resampler(padded(given, torch.nan), sizes, TIMES, members(GROUPS))
    torch.testing.assert_close(tokens, expected, rtol=0, atol=1e-5)


def test_no_time_is_not_time_zero() -> None:
    """Within a group: what is added to all keys of a set alike changes nothing."""
    resampler, _ = parts("4.5")
    given, sizes = padded(features([(4, 4)] * 2)), torch.tensor([[4, 4]] * 2, dtype=torch.int32)
    tokens = {
        time: resampler(given, sizes, torch.tensor([time, 4], dtype=torch.int32), members([[time, 4]]))
        for time in (-1, 0, 1)
    }
    assert (tokens[-1] - tokens[0]).abs().max() > 0.01
    assert (tokens[1] - tokens[0]).abs().max() > 0.01
    without = resampler(given, sizes)
    assert torch.equal(resampler(given, sizes, torch.tensor([-1, -1])), without)


def test_dummy_slices_and_groups_are_finite_and_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    resampler, _ = parts("4.5")
    attend = functional.scaled_dot_product_attention

    def attend_to_something(*args: Tensor, attn_mask: Tensor) -> Tensor:
        assert attn_mask.any(-1).all(), "a softmax over no key is NaN on some devices"
        return attend(*args, attn_mask=attn_mask)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", attend_to_something)
    groups = [[3, 5, 8], [2]]
    grids = frames_of(groups)
    given, sizes = padded(features(grids)), torch.tensor(grids, dtype=torch.int32)
    times = torch.tensor([3, 5, 8, 2], dtype=torch.int32)
    expected = resampler(given, sizes, times, members(groups))
    more = torch.cat([given, given.new_full((3, CAP, 24), 5.0)])
    tokens = resampler(
        more,
        torch.cat([sizes, torch.zeros(3, 2, dtype=torch.int32)]),
        torch.cat([times, torch.full((3,), -1, dtype=torch.int32)]),
        torch.cat([members(groups), torch.full((2, 6), -1, dtype=torch.int32)]),
    )
    torch.testing.assert_close(tokens[:2], expected, rtol=0, atol=2e-6)
    assert tokens.isfinite().all()


def test_positions_keep_float32_in_a_model_of_16_bits() -> None:
    resampler, _ = parts("4.5")
    times = torch.tensor([71999, 12345, -1])
    expected = resampler._times(times)
    assert torch.equal(resampler.to(torch.bfloat16)._times(times), expected)
    assert expected.dtype == torch.float32
