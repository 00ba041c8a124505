import subprocess
import sys

import pytest
import torch

from encoders.attention import rel_pos_attention
from encoders.attention.plain import augmented_attention, bias_attention
from encoders.sam import key_axes
from tests.encoders.attention_cases import random_case, reference, relative_error


@pytest.mark.parametrize("side", [1, 2, 7, 14])
@pytest.mark.parametrize("head_dim", [8, 20])
def test_both_operator_paths_equal_the_definition(side: int, head_dim: int) -> None:
    case = random_case(side, batch=2, heads=3, head_dim=head_dim, dtype=torch.float64, seed=side)
    want = reference(case)
    axes = key_axes(side, case.rows)
    assert relative_error(bias_attention(*case.tensors, case.scale), want) < 1e-12
    assert relative_error(augmented_attention(*case.tensors, case.scale, axes), want) < 1e-12
    if side > 1:
        bare = torch.nn.functional.scaled_dot_product_attention(case.q, case.k, case.v)
        assert relative_error(bare, want) > 0.1, "the positions must matter"


def test_gradients_reach_queries_and_tables() -> None:
    case = random_case(5, head_dim=16)
    tensors = [tensor.detach().clone().requires_grad_() for tensor in case.tensors]
    q, k, v, rows, cols = tensors
    total = rel_pos_attention(q, k, v, rows, cols, case.scale, key_axes(5, case.rows)).square().sum()
    assert all(gradient.abs().sum() > 0 for gradient in torch.autograd.grad(total, tensors))


def test_nothing_but_pytorch_is_needed() -> None:
    without = "import sys; sys.modules['triton'] = None\n"
    without += "import importlib.util as u; f = u.find_spec\n"
    without += "u.find_spec = lambda name, *a: None if name == 'triton' else f(name, *a)\n"
    without += "import encoders.attention as a; assert a.fused is None; import encoders.sam"
    subprocess.run([sys.executable, "-c", without], check=True, timeout=120)
