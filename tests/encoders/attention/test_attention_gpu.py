import pytest
import torch

from encoders.attention import fused_grid, fused_windows, grid_attention, plain_only, window_attention
from encoders.deepseek.sam import SamBlock, SamConfig, SamEncoder
from tests.encoders.attention.attention_cases import (
    Case,
    page_reference,
    random_case,
    random_page,
    reference,
    relative_error,
)

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        fused_grid is None or not torch.cuda.is_available(), reason="needs a CUDA device and Triton"
    ),
]
LIMITS = {torch.bfloat16: 1e-2, torch.float16: 1.5e-3}


def cuda_case(side: int, *, batch: int, dtype: torch.dtype = torch.bfloat16, seed: int = 0) -> Case:
    heads, head_dim = (12, 64) if side <= 40 else (3, 64)
    return random_case(
        side, batch=batch, heads=heads, head_dim=head_dim, dtype=dtype, device="cuda", seed=seed
    )


def run(case: Case) -> torch.Tensor:
    assert fused_grid.supports(*case.arguments)
    return grid_attention(*case.arguments)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("side", "batch"),
    [(14, 53), (7, 3), (17, 2), (32, 3), (40, 1), (40, 3), (64, 1), (64, 3), (80, 1)],
)
def test_equals_the_definition(side: int, batch: int, dtype: torch.dtype) -> None:
    case = cuda_case(side, batch=batch, dtype=dtype, seed=side)
    assert relative_error(run(case), reference(case, torch.float32)) < LIMITS[dtype]


@pytest.mark.parametrize("head_dim", [16, 32])
@pytest.mark.parametrize("side", [14, 40])
def test_other_head_dims(side: int, head_dim: int) -> None:
    case = random_case(side, batch=2, head_dim=head_dim, dtype=torch.bfloat16, device="cuda")
    assert relative_error(run(case), reference(case, torch.float32)) < LIMITS[torch.bfloat16]


@pytest.mark.parametrize("side", [14, 40, 64])
def test_a_captured_graph_gives_what_a_call_gives(side: int) -> None:
    case, other = (cuda_case(side, batch=2, seed=seed) for seed in (1, 2))
    run(case)  # compiles
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = run(case)
    for static, fresh in ((case.qkv, other.qkv), (case.rows, other.rows), (case.cols, other.cols)):
        static.copy_(fresh)
    for _ in range(3):
        out.fill_(float("nan"))
        graph.replay()
        assert torch.equal(out, run(other))


def test_gradients_and_single_precision_take_the_operators() -> None:
    case = random_case(6, dtype=torch.bfloat16, device="cuda")
    arguments = (case.qkv.clone().requires_grad_(), *case.arguments[1:])
    assert not fused_grid.supports(*arguments)
    assert not fused_grid.supports(*random_case(6, device="cuda").arguments)
    with torch.no_grad():
        assert fused_grid.supports(*arguments)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("side", "batch", "window"),
    [(64, 1, 14), (64, 3, 14), (40, 1, 14), (40, 7, 14), (9, 2, 14), (28, 2, 14), (20, 2, 7), (33, 1, 16)],
)
def test_page_windows_equal_the_definition(side: int, batch: int, window: int, dtype: torch.dtype) -> None:
    case = random_page(side, window=window, batch=batch, heads=3, dtype=dtype, device="cuda", seed=side)
    assert fused_windows.supports(*case.arguments)
    got = window_attention(*case.arguments)
    want = page_reference(case, torch.float32)
    assert got.is_contiguous()
    assert relative_error(got, want) < 2 * LIMITS[dtype]  # the projection is rounded too
    with plain_only():
        assert relative_error(got, window_attention(*case.arguments)) < 2 * LIMITS[dtype]


@pytest.mark.parametrize("head_dim", [16, 32])
def test_page_windows_of_other_head_dims(head_dim: int) -> None:
    case = random_page(20, batch=2, head_dim=head_dim, dtype=torch.bfloat16, device="cuda")
    assert relative_error(window_attention(*case.arguments), page_reference(case, torch.float32)) < 2e-2


def test_page_windows_beyond_32_bit_offsets() -> None:
    """700 pages of 37 x 37 tokens hold 2.2 * 10^9 numbers; the last page must be its own."""
    case = random_page(37, batch=1, heads=12, dtype=torch.bfloat16, device="cuda")
    qkv = torch.zeros(700, *case.qkv.shape[1:], dtype=torch.bfloat16, device="cuda")
    qkv[-1] = case.qkv[0]
    got = window_attention(qkv, *case.arguments[1:])
    assert torch.equal(got[-1:], window_attention(*case.arguments))


def test_captured_page_windows_give_what_a_call_gives() -> None:
    case, other = (
        random_page(40, batch=2, dtype=torch.bfloat16, device="cuda", seed=seed) for seed in (1, 2)
    )
    qkv, *rest = case.arguments
    window_attention(qkv, *rest)  # compiles
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = window_attention(qkv, *rest)
    qkv.copy_(other.qkv)
    for _ in range(3):
        out.fill_(float("nan"))
        graph.replay()
        assert torch.equal(out, window_attention(qkv, *rest))


@torch.no_grad()
def test_blocks_with_windows_over_the_edge_equal_single_precision() -> None:
    """A grid of 20 takes four windows of 14, three of them filled up with zeros before the projection."""
    config = SamConfig(width=128, num_layers=2, num_heads=2, mlp_dim=256, pos_grid=20, global_layers=(1,))
    encoder = SamEncoder(config).cuda().eval()
    torch.manual_seed(0)
    for parameter in encoder.parameters():
        parameter.normal_(0, 0.3)
    x = torch.randn(3, 20, 20, 128, device="cuda")
    half = SamEncoder(config).cuda().eval()
    half.load_state_dict(encoder.state_dict())
    half.bfloat16()
    for index in (0, 1):
        block, low = encoder.blocks[index], half.blocks[index]
        assert isinstance(block, SamBlock)
        update = torch.randn(1, 20, 20, 128, device="cuda")
        total, change = block(x, update, encoder.tables(20).rel_pos[index])
        low_total, low_change = low(x.bfloat16(), update.bfloat16(), half.tables(20).rel_pos[index])
        assert relative_error(low_total - x.bfloat16(), total - x) < 3e-2
        assert relative_error(low_change, change) < 3e-2
