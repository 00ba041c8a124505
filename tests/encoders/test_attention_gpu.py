import pytest
import torch

from encoders.attention import fused, rel_pos_attention
from encoders.sam import SamBlock, SamConfig, SamEncoder
from tests.encoders.attention_cases import Case, random_case, reference, relative_error

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        fused is None or not torch.cuda.is_available(), reason="needs a CUDA device and Triton"
    ),
]
LIMITS = {torch.bfloat16: 1e-2, torch.float16: 1.5e-3}


def cuda_case(side: int, *, batch: int, dtype: torch.dtype = torch.bfloat16, seed: int = 0) -> Case:
    heads, head_dim = (12, 64) if side <= 40 else (3, 64)
    return random_case(
        side, batch=batch, heads=heads, head_dim=head_dim, dtype=dtype, device="cuda", seed=seed
    )


def run(case: Case) -> torch.Tensor:
    assert fused.supports(*case.tensors)
    return rel_pos_attention(*case.tensors, case.scale, None)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    ("side", "batch"),
    [(14, 1), (14, 53), (7, 3), (17, 2), (32, 3), (40, 1), (40, 3), (64, 1), (64, 3), (80, 1)],
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
    for static, fresh in zip(case.tensors, other.tensors, strict=True):
        static.copy_(fresh)
    for _ in range(3):
        out.fill_(float("nan"))
        graph.replay()
        assert torch.equal(out, run(other))


@pytest.mark.parametrize("side", [14, 40])
def test_compiles_as_one_graph(side: int) -> None:
    case = cuda_case(side, batch=2)
    compiled = torch.compile(rel_pos_attention, fullgraph=True)
    assert torch.equal(compiled(*case.tensors, case.scale, None), run(case))


def test_gradients_and_single_precision_take_the_operators() -> None:
    case = random_case(6, dtype=torch.bfloat16, device="cuda")
    tensors = [tensor.detach().clone().requires_grad_() for tensor in case.tensors]
    assert not fused.supports(*tensors)
    assert not fused.supports(*random_case(6, device="cuda").tensors)
    with torch.no_grad():
        assert fused.supports(*tensors)


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
        want = block(x, encoder.tables(20).rel_pos[index]) - x
        got = low(x.bfloat16(), half.tables(20).rel_pos[index]) - x.bfloat16()
        assert relative_error(got, want) < 3e-2
