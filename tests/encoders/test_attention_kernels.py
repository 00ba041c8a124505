"""The kernels through Triton's interpreter, which needs no GPU but does not know bfloat16 products.

Triton looks for TRITON_INTERPRET when it is imported, so that those tests run in a process of their own.
"""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.encoders.attention_cases import random_case, reference, relative_error

pytest.importorskip("triton")
from encoders.attention import fused
from encoders.attention.fused import LaunchConfig, best_rows, default_config, power_of_two

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
interpreted = pytest.mark.skipif(not INTERPRETED, reason="run by test_through_the_interpreter")


@pytest.mark.skipif(INTERPRETED, reason="this is that process")
def test_through_the_interpreter() -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    command = [sys.executable, "-m", "pytest", __file__, "-p", "no:cacheprovider"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture(autouse=True)
def fresh_memory_holds_nan() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@interpreted
@pytest.mark.parametrize("side", [1, 3, 5, 14, 16])
def test_windows_equal_the_definition(side: int) -> None:
    case = random_case(side, batch=2, head_dim=32, seed=side)
    got = fused.launch(*case.tensors, case.scale, LaunchConfig(block_m=64, num_warps=4, num_stages=1))
    assert got.shape == (2, side * side, 2, 32)
    assert got.is_contiguous()
    assert relative_error(got.transpose(1, 2), reference(case)) < 1e-5


@interpreted
@pytest.mark.parametrize(("side", "rows"), [(17, 1), (17, 3), (20, 3), (20, 4), (32, 1)])
def test_grids_equal_the_definition(side: int, rows: int) -> None:
    case = random_case(side, batch=1 + side % 2, head_dim=16, seed=side)
    got = fused.launch(
        *case.tensors, case.scale, LaunchConfig(block_m=64, num_warps=4, num_stages=1, rows=rows)
    )
    assert relative_error(got.transpose(1, 2), reference(case)) < 1e-5


@interpreted
def test_half_precision_is_as_good_as_its_inputs_allow() -> None:
    for side in (14, 18):
        case = random_case(side, head_dim=32, dtype=torch.float16)
        got = fused.launch(*case.tensors, case.scale, default_config(side))
        assert got.dtype == torch.float16
        assert relative_error(got.transpose(1, 2), reference(case)) < 1.5e-3


@interpreted
def test_channels_may_be_strided_and_a_batch_empty() -> None:
    case, small = random_case(4, head_dim=16), LaunchConfig(block_m=16, num_warps=4, num_stages=1)
    q, k, v = (t.transpose(2, 3).contiguous().transpose(2, 3) for t in (case.q, case.k, case.v))
    got = fused.launch(q, k, v, case.rows, case.cols, case.scale, small)
    assert relative_error(got.transpose(1, 2), reference(case)) < 1e-5
    empty = fused.launch(q[:0], k[:0], v[:0], case.rows, case.cols, case.scale, small)
    assert empty.shape == (0, 16, 2, 16)


@pytest.mark.parametrize(("side", "rows"), [(64, 1), (40, 3), (32, 2), (80, 1), (128, 1), (20, 3)])
def test_blocks_of_keys_are_filled_well(side: int, rows: int) -> None:
    assert best_rows(side) == rows
    assert rows * side <= power_of_two(rows * side) <= 128


def test_the_operator_tells_its_shape_without_running() -> None:
    with FakeTensorMode():
        q = torch.empty(3, 2, 400, 64, device="cuda", dtype=torch.bfloat16)
        table = torch.empty(20, 20, 64, device="cuda", dtype=torch.bfloat16)
        out = fused.attend(q, q, q, table, table, 0.125)
    assert out.shape == q.shape
    assert out.dtype == q.dtype
    assert out.transpose(1, 2).is_contiguous()


def test_the_cpu_keeps_the_operators() -> None:
    assert not fused.supports(*random_case(4, dtype=torch.bfloat16).tensors)
