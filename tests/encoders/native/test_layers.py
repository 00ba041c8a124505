"""The feed-forward on a CPU, its alignment, and on a GPU against the module that holds its weights."""

import copy

import pytest
import torch
from torch import nn
from transformers.activations import ACT2FN

from encoders.native.layers import align, feed_forward
from tests.encoders.attention.attention_cases import relative_error


class Gated(nn.Module):
    """As Qwen2.5-VL's, GLM-OCR's and Pixtral's."""

    def __init__(self, width: int, wide: int, activation: str = "silu") -> None:
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(width, wide), nn.Linear(width, wide, bias=False)
        self.down_proj = nn.Linear(wide, width)
        self.act_fn = ACT2FN[activation]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        down: torch.Tensor = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
        return down


class TwoProducts(nn.Module):
    """As SigLIP's."""

    def __init__(self, width: int, wide: int, activation: str) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, wide), nn.Linear(wide, width)
        self.activation_fn = ACT2FN[activation]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.fc2(self.activation_fn(self.fc1(x)))
        return out


@torch.no_grad()
@pytest.mark.parametrize("wide", [20, 24])
def test_alignment_changes_no_result(wide: int) -> None:
    x = torch.randn(5, 16)
    mlp = Gated(16, wide)
    before = mlp(x)
    align(mlp)
    assert mlp.gate_proj.out_features == mlp.down_proj.in_features == 24
    assert mlp.up_proj.weight.shape == (24, 16)
    assert mlp.gate_proj.bias.shape == (24,)
    torch.testing.assert_close(mlp(x), before)


def test_other_feed_forwards_are_not_aligned() -> None:
    for mlp in (Gated(16, 20, "gelu"), TwoProducts(16, 20, "gelu_pytorch_tanh")):
        before = copy.deepcopy(mlp.state_dict())
        align(mlp)
        assert all(torch.equal(weight, before[name]) for name, weight in mlp.state_dict().items())


@torch.no_grad()
def test_a_cpu_calls_the_module() -> None:
    mlp, x = Gated(16, 24), torch.randn(5, 16)
    assert torch.equal(feed_forward(mlp, x), mlp(x))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@torch.no_grad()
@pytest.mark.parametrize(
    "mlp",
    [
        Gated(128, 344),
        Gated(128, 344, "gelu"),
        TwoProducts(128, 344, "gelu_pytorch_tanh"),
        TwoProducts(128, 344, "gelu"),
    ],
    ids=["silu", "gated gelu", "tanh", "erf"],
)
def test_a_gpu_computes_what_the_module_says(mlp: nn.Module) -> None:
    mlp, x = copy.deepcopy(mlp).cuda(), torch.randn(77, 128, device="cuda")
    exact = mlp(x)
    assert relative_error(feed_forward(mlp.bfloat16(), x.bfloat16()), exact) < 1e-2
