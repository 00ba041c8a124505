import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from encoders.attention.plain import join_windows, split_windows
from encoders.deepseek.sam import SamConfig, SamPatchEmbed, relative_table, split_patches


@given(side=st.integers(1, 30), window=st.integers(1, 16), batch=st.integers(1, 3))
def test_windows_join_to_what_was_split(side: int, window: int, batch: int) -> None:
    x = torch.arange(batch * side * side * 2, dtype=torch.float32).view(batch, side, side, 2) + 1
    windows = split_windows(x, torch.tensor([0.0, -1.0]), window)
    count = -(-side // window)
    assert windows.shape == (batch * count * count, window, window, 2)
    assert (windows > 0).sum() == x.numel(), "all but the content is what it is filled with"
    assert torch.equal(join_windows(windows, window, side), x)


def test_patches_are_the_convolutions() -> None:
    embed = SamPatchEmbed(SamConfig(width=8, patch_px=4))
    pixels = torch.randn(2, 3, 12, 12, generator=torch.Generator().manual_seed(0))
    want = embed.proj(pixels).permute(0, 2, 3, 1)
    assert torch.allclose(embed(split_patches(pixels, 4)), want, atol=1e-6)


@given(side=st.integers(1, 20))
def test_relative_table_holds_the_vector_of_each_distance(side: int) -> None:
    rel_pos = torch.arange(2 * side - 1, dtype=torch.float32)[:, None]
    table = relative_table(rel_pos, side)
    for query in range(side):
        for key in range(side):
            assert table[query, key].item() == query - key + side - 1


def test_relative_table_is_stretched_to_another_side() -> None:
    table = relative_table(torch.linspace(-1, 1, 127)[:, None], 40)
    assert table.shape == (40, 40, 1)
    assert table[5, 5].item() == pytest.approx(0, abs=1e-6)
    assert (table[:, :-1] > table[:, 1:]).all()
