from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import nn

from ocr.int8 import (
    deflated,
    expand,
    fill,
    inflated,
    num_rows,
    quantise,
    stored,
)


@given(
    shape=st.sampled_from([(5, 7), (1, 4, 4, 6), (3, 2, 3, 3), (1, 9)]),
    seed=st.integers(0, 99),
    magnitude=st.floats(1e-2, 1e3),
    wide=st.sampled_from([1, 3]),
)
def test_error_is_at_most_half_a_step_a_row(
    shape: tuple[int, ...], seed: int, magnitude: float, wide: int
) -> None:
    tensor = torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * magnitude
    values, scale = quantise(tensor, wide)
    assert (values.dtype, values.shape, scale.dtype, scale.shape) == (
        torch.int8, tensor.shape, torch.float16, (num_rows(shape),),
    )  # fmt: skip
    difference = (expand(values, scale) - tensor).reshape(num_rows(shape), -1).abs().amax(1)
    largest = tensor.reshape(num_rows(shape), -1).abs().amax(1)
    rounding = 2**-11 + 2**-25 / (largest / 127)  # of the scale, in float16; below 2**-14 steps are absolute
    assert (difference <= largest / 254 * wide * (1 + rounding) + largest * rounding + 1e-7 * largest).all()


def test_zero_rows_stay_zero() -> None:
    assert torch.equal(expand(*quantise(torch.zeros(3, 4))), torch.zeros(3, 4))


def test_wide_steps_of_fine_values_are_off_by_a_third_at_most() -> None:
    fine, scale = quantise(torch.randn(9, 500, generator=torch.Generator().manual_seed(1)))
    coarse, wide = quantise(expand(fine, scale), wide=3)
    assert (3 * coarse.int() - fine).abs().max() == 1
    torch.testing.assert_close(wide.float(), 3 * scale.float(), rtol=1e-3, atol=0)


def test_a_stream_gives_the_values_back_in_fewer_bytes() -> None:
    values, _ = quantise(torch.randn(64, 32, 3, 3, generator=torch.Generator().manual_seed(0)), wide=3)
    stream = deflated(values)
    assert stream.numel() < 0.8 * values.numel()
    assert torch.equal(inflated(stream, tuple(values.shape)), values)


def test_a_damaged_stream_is_an_error() -> None:
    stream = deflated(torch.ones(4, 5, dtype=torch.int8))
    for damaged, shape in ((stream[:-1], (4, 5)), (stream, (4, 6)), (torch.zeros_like(stream), (4, 5))):
        with pytest.raises(ValueError, match="no stream of int8 values for"):
            inflated(damaged, shape)


def test_a_network_is_filled_with_what_was_stored(tmp_path: Path) -> None:
    net, file = nn.Linear(5, 3), tmp_path / "net.safetensors"
    weight, bias = torch.randn(3, 5), torch.randn(3).half()
    save_file({**dict(stored("weight", weight)), "bias": bias}, file)
    fill(net, file)
    assert torch.equal(net.weight, expand(*quantise(weight)))
    assert torch.equal(net.bias, bias.float())
    save_file({"weight": weight, "bias": bias, "more": bias.clone()}, file)
    with pytest.raises(RuntimeError, match="more"):
        fill(net, file)
