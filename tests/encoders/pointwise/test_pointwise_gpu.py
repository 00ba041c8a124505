from functools import partial

import pytest
import torch
from torch import Tensor

from encoders.attention import plain_only
from encoders.pointwise import add_norm, fused, linear_gelu, quick_gelu
from tests.encoders.attention.attention_cases import relative_error
from tests.encoders.pointwise.pointwise_cases import random_norm

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        fused is None or not torch.cuda.is_available(), reason="needs a CUDA device and Triton"
    ),
]
LIMITS = {torch.bfloat16: 4e-3, torch.float16: 5e-4}
DTYPES = list(LIMITS)
SHAPES = [
    (768, (1, 64, 64)),
    (768, (3, 40, 40)),
    (1024, (1, 257)),
    (1024, (33, 257)),
    (256, (2, 1024)),
    (40, (7,)),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("width", "shape"), SHAPES)
@pytest.mark.parametrize("delta_is", ["whole", "one", "none"])
def test_sum_and_norm_equal_the_definition(
    width: int, shape: tuple[int, ...], dtype: torch.dtype, delta_is: str
) -> None:
    norm, x, delta = random_norm(width, shape, dtype=dtype, device="cuda")
    added = {"whole": delta, "one": delta[:1], "none": None}[delta_is]
    assert fused.supports_norm(x, added, norm)
    total, normed = add_norm(x, added, norm)
    exact = x.float() if added is None else x.float() + added.float()
    assert torch.equal(total, exact.to(dtype))
    assert relative_error(normed, norm.float()(exact)) < LIMITS[dtype]


@pytest.mark.parametrize("dtype", DTYPES)
def test_quick_gelu_of_every_number_is_within_a_rounding(dtype: torch.dtype) -> None:
    x = torch.arange(-(2**15), 2**15, device="cuda").to(torch.int16).view(dtype)
    x = x[x.isfinite()].contiguous()
    want = quick_gelu(x.double()).to(dtype)
    out = quick_gelu(x.clone())
    tiny = (want.abs() < 1e-7) & (out.abs() < 1e-7)
    apart = (out.view(torch.int16).int() - want.view(torch.int16).int()).abs()[~tiny]
    assert apart.max() <= 1
    assert (apart > 0).float().mean() < 0.01


def test_sizes_that_fill_no_block_and_what_is_not_a_number() -> None:
    for count in (1, 17, 2048, 5001):
        x = torch.randn(count + 1, device="cuda").bfloat16()[1:]  # not aligned to 16 bytes
        with plain_only():
            want = quick_gelu(x.float())
        assert relative_error(quick_gelu(x), want) < 4e-3
    odd = torch.tensor([float("nan"), float("inf")], device="cuda").half()
    assert quick_gelu(odd).isnan().tolist() == [True, False]
    assert odd[1] == float("inf")


@torch.no_grad()
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 77, 4096])
def test_linear_and_gelu_are_at_least_as_exact_as_one_after_the_other(rows: int, dtype: torch.dtype) -> None:
    linear = torch.nn.Linear(768, 3072).cuda()
    x = 2 * torch.randn(3, rows, 768, device="cuda")
    linear, x = linear.to(dtype), x.to(dtype)
    exact = torch.nn.Linear(768, 3072).cuda().double()
    exact.load_state_dict(linear.state_dict())
    with plain_only():
        apart = linear_gelu(x, linear)
        want = linear_gelu(x.double(), exact)
    assert relative_error(linear_gelu(x, linear), want) <= 1.05 * relative_error(apart, want)


def all_operators(x: Tensor, delta: Tensor, norm: torch.nn.LayerNorm) -> Tensor:
    total, normed = add_norm(x, delta, norm)
    again = add_norm(normed, None, norm)[1]
    return total + quick_gelu(again)


@torch.no_grad()
def test_a_captured_graph_gives_what_a_call_gives() -> None:
    norm, x, delta = random_norm(768, (5, 9), dtype=torch.bfloat16, device="cuda")
    call = partial(all_operators, x, delta, norm)
    call()  # compiles
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = call()
    _, fresh, other = random_norm(768, (5, 9), dtype=torch.bfloat16, device="cuda", seed=1)
    x.copy_(fresh)
    delta.copy_(other)
    for _ in range(3):
        out.fill_(float("nan"))
        graph.replay()
        assert torch.equal(out, call())


def test_gradients_single_precision_and_the_switch_take_the_operators() -> None:
    norm, x, delta = random_norm(768, (5,), dtype=torch.bfloat16, device="cuda")
    assert fused.supports_norm(x, delta, norm)
    assert not fused.supports_norm(x.float(), None, norm)
    assert not fused.supports_norm(x, delta[:2], norm)
    norm.requires_grad_()
    assert not fused.supports_norm(x, delta, norm)
    with plain_only():
        assert torch.equal(add_norm(x, delta, norm)[1], norm(x + delta))
