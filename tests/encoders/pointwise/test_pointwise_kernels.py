"""The kernels through Triton's interpreter, which needs no GPU."""

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from tests.encoders.attention.attention_cases import relative_error
from tests.encoders.pointwise.pointwise_cases import random_norm
from tests.interpreter import interpreted

pytest.importorskip("triton")
import encoders.pointwise.fused as fused  # the package has none without a GPU
from encoders import pointwise


@pytest.fixture(autouse=True)
def fresh_memory_holds_nan() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@interpreted
@pytest.mark.parametrize("width", [8, 96, 768, 1024])
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_sums_and_norms_equal_the_definition(width: int, rows: int) -> None:
    norm, x, delta = random_norm(width, (3, 5))
    want = pointwise.add_norm(x.double(), delta.double(), norm.double())
    norm.float()
    total, normed = fused.launch_norm(x, delta, norm.weight, norm.bias, norm.eps, rows)
    assert torch.equal(total, x + delta)
    assert relative_error(normed, want[1]) < 1e-6


@interpreted
def test_a_delta_repeats_over_the_first_dimension_and_may_be_left_out() -> None:
    norm, x, delta = random_norm(40, (3, 2, 5))
    for added in (delta[:1], delta[:1].transpose(1, 2).contiguous().transpose(1, 2), None):
        want = pointwise.add_norm(x, added, norm)
        got = fused.launch_norm(x, added, norm.weight, norm.bias, norm.eps, 4)
        assert torch.equal(got[0], want[0])
        assert relative_error(got[1], want[1]) < 1e-6
    assert got[0] is x
    empty = fused.launch_norm(x[:0], delta[:0], norm.weight, norm.bias, norm.eps, 4)
    assert [tuple(tensor.shape) for tensor in empty] == [(0, 2, 5, 40)] * 2


@interpreted
def test_a_norm_of_far_values_keeps_its_digits() -> None:
    norm, x, _ = random_norm(768, (4,))
    far = x + 1000
    got = fused.launch_norm(far, None, norm.weight, norm.bias, norm.eps, 1)[1]
    assert relative_error(got, norm.double()(far.double())) < 1e-4


@interpreted
def test_half_precision_norms_the_sum_before_it_is_rounded() -> None:
    norm, x, delta = random_norm(96, (7,), dtype=torch.float16)
    total, normed = fused.launch_norm(x, delta, norm.weight, norm.bias, norm.eps, 2)
    assert torch.equal(total, x + delta)
    want = pointwise.add_norm(x.double(), delta.double(), norm.double())[1]
    assert relative_error(normed, want) < 4e-4


@interpreted
def test_quick_gelu_of_every_half_precision_number_is_rounded_as_by_the_operator() -> None:
    x = torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.float16)
    x = x[x.isfinite()]
    want = pointwise.quick_gelu(x.double()).half()
    fused.quick_gelu(x)
    apart = (x.view(torch.int16).int() - want.view(torch.int16).int()).abs()
    zero = (x == 0) & (want == 0)
    assert apart[~zero].max() <= 1
    assert (apart[~zero] > 0).float().mean() < 0.01


@interpreted
def test_what_is_not_a_number_shows() -> None:
    x = torch.tensor([float("nan"), float("inf"), 1.0])
    fused.quick_gelu(x)
    assert x.isnan().tolist() == [True, False, False]
    assert x[1] == float("inf")


@pytest.mark.parametrize("width", [64, 256, 768, 1024, 4096])
def test_launches_are_powers_of_two(width: int) -> None:
    rows, num_warps = fused.rows_and_warps(width)
    for number in (rows, num_warps):
        assert number > 0
        assert number & (number - 1) == 0
    assert rows * fused.block_width(width) / (32 * num_warps) <= 32, "values a thread holds"


class TinyRMSNorm(nn.Module):
    """Has the form of transformers' norms by the root mean square."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width))
        self.variance_epsilon = 1e-6

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


@interpreted
def test_norms_by_the_root_mean_square() -> None:
    norm, x, delta = TinyRMSNorm(40), torch.randn(7, 40) + 3, torch.randn(7, 40)
    assert fused.is_rms_norm(norm)
    total, normed = fused.launch_norm(x, delta, norm.weight, None, norm.variance_epsilon, 2)
    assert torch.equal(total, x + delta)
    assert relative_error(normed, norm(x + delta)) < 1e-6


@interpreted
def test_gated_silu_overwrites_its_gate() -> None:
    gate, up = torch.randn(2, 5, 700).unbind(0)
    want = pointwise.gated_silu(gate, up)
    fused.gated_silu(gate, up)
    assert relative_error(gate, want) < 1e-6


@interpreted
@pytest.mark.parametrize(("heads", "head_dim"), [(3, 72), (2, 16), (1, 6)])
def test_rotations_equal_the_operators(heads: int, head_dim: int) -> None:
    qkv, angles = torch.randn(9, 3, heads, head_dim), torch.randn(9, head_dim // 2).repeat(1, 2)
    query, key, _ = qkv.unbind(1)
    turns = angles.cos(), angles.sin()
    got = fused.rotated(query, key, *turns)
    for its, want in zip(got, pointwise.rotated(query, key, *turns), strict=True):
        assert its.is_contiguous()
        torch.testing.assert_close(its, want, rtol=1e-5, atol=1e-6)
