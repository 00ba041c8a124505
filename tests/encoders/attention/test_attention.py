import subprocess
import sys
from functools import partial

import pytest
import torch

from encoders.attention import grid_attention, plain_only, window_attention
from encoders.attention.switch import kernel_allowed
from encoders.deepseek.sam import key_axes
from tests.encoders.attention.attention_cases import (
    Case,
    page_reference,
    random_case,
    random_page,
    reference,
    relative_error,
)


@pytest.mark.parametrize("side", [1, 2, 7, 14])
@pytest.mark.parametrize("head_dim", [8, 20])
def test_both_operator_paths_equal_the_definition(side: int, head_dim: int) -> None:
    case = random_case(side, batch=2, heads=3, head_dim=head_dim, dtype=torch.float64, seed=side)
    want = reference(case)
    axes = key_axes(side, case.rows)
    assert relative_error(grid_attention(*case.arguments), want) < 1e-12
    assert relative_error(grid_attention(*case.arguments, axes), want) < 1e-12
    if side > 1:
        without = Case(qkv=case.qkv, rows=0 * case.rows, cols=0 * case.cols, num_heads=case.num_heads)
        assert relative_error(grid_attention(*without.arguments), want) > 0.1, "the positions must matter"


@pytest.mark.parametrize(
    ("side", "window"), [(3, 14), (14, 14), (20, 14), (28, 14), (40, 14), (7, 3), (1, 1)]
)
def test_windows_of_a_page_equal_the_projection_of_a_padded_page(side: int, window: int) -> None:
    case = random_page(side, window=window, batch=2, heads=2, head_dim=8, seed=side)
    got = window_attention(*case.arguments)
    assert got.shape == case.x.shape
    assert relative_error(got, page_reference(case)) < 2e-6


def test_kernels_are_off_only_within_the_switch() -> None:
    allowed = partial(kernel_allowed, "grid_attention", torch.device("cpu"))
    assert allowed()
    with plain_only():
        with plain_only():
            pass
        assert not allowed()
    with plain_only():
        assert not allowed()
    with pytest.raises(KeyError), plain_only():
        raise KeyError
    assert allowed()


# Kernels are looked for only there.
ON_A_GPU = "torch.cuda.is_available = lambda: True\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "triton", ["None", "types.ModuleType('triton')"], ids=["no Triton", "one without what is needed"]
)
def test_nothing_but_pytorch_is_needed(triton: str) -> None:
    without = f"import sys, types, torch; sys.modules['triton'] = {triton}\n{ON_A_GPU}"
    without += "import encoders.attention as a; assert a.fused_grid is None; import encoders.deepseek.sam\n"
    without += "import encoders.pointwise as p; assert p.fused is None"
    subprocess.run([sys.executable, "-c", without], check=True, timeout=120)


@pytest.mark.slow
def test_a_triton_before_3_4_leaves_the_operators() -> None:
    pytest.importorskip("triton")
    without = f"import sys, torch; sys.modules['triton.tools.tensor_descriptor'] = None\n{ON_A_GPU}"
    without += "import encoders.attention as a; assert a.fused_grid is None is a.fused_windows\n"
    without += "import encoders.deepseek.sam"
    subprocess.run([sys.executable, "-c", without], check=True, timeout=120)
