"""The kernels through Triton's interpreter, which needs no GPU but does not know bfloat16 products."""

from collections.abc import Iterator

import pytest
import torch

from tests.encoders.attention.attention_cases import (
    page_reference,
    random_case,
    random_page,
    reference,
    relative_error,
)
from tests.interpreter import count_loops, interpreted

pytest.importorskip("triton")
import encoders.attention.fused_grid as fused_grid  # the package has none without a GPU
import encoders.attention.fused_windows as fused_windows
from encoders.attention.fused_grid import best_rows
from encoders.attention.fused_windows import window_parts
from encoders.attention.switch import power_of_two


@pytest.fixture(autouse=True)
def fresh_memory_holds_nan() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def counted_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    count_loops(monkeypatch)


@interpreted
@pytest.mark.parametrize(
    ("side", "rows"), [(1, 1), (3, 5), (5, 3), (14, 1), (16, 1), (17, 3), (20, 3), (20, 4)]
)
def test_grids_equal_the_definition(side: int, rows: int) -> None:
    case = random_case(side, batch=1 + side % 2, head_dim=16, seed=side)
    got = fused_grid.attend(*case.arguments, rows)
    assert got.shape == (*case.qkv.shape[:3], 32)
    assert got.is_contiguous()
    assert relative_error(got, reference(case)) < 1e-5


@interpreted
def test_grids_in_half_precision_and_out_of_a_strided_projection() -> None:
    for side in (14, 18):
        case = random_case(side, head_dim=32, dtype=torch.float16)
        strided = case.qkv.transpose(1, 2).contiguous().transpose(1, 2)
        got = fused_grid.attend(strided, *case.arguments[1:])
        assert got.dtype == torch.float16
        assert relative_error(got, reference(case)) < 1.5e-3
    empty = fused_grid.attend(case.qkv[:0], *case.arguments[1:])
    assert empty.shape == (0, 18, 18, 64)


@interpreted
def test_a_page_of_nan_leaves_the_one_before_it_alone() -> None:
    """The last block of keys of a page reaches into the next one."""
    case = random_case(20, batch=2, head_dim=16)
    case.qkv[1] = float("nan")
    got = fused_grid.attend(*case.arguments)
    assert relative_error(got[:1], reference(case)[:1]) < 1e-5
    assert got[1].isnan().all()


@interpreted
@pytest.mark.usefixtures("counted_loops")
@pytest.mark.parametrize(
    ("side", "window"), [(20, 14), (14, 14), (9, 14), (20, 16), (10, 7), (12, 11), (7, 3), (1, 1)]
)
def test_page_windows_equal_the_definition(side: int, window: int) -> None:
    case = random_page(side, window=window, batch=2, head_dim=16, seed=side)
    got = fused_windows.attend(*case.arguments)
    assert got.shape == case.x.shape
    assert got.is_contiguous()
    assert relative_error(got, page_reference(case)) < 1e-5


@interpreted
@pytest.mark.usefixtures("counted_loops")
def test_page_windows_in_half_precision_and_out_of_a_strided_projection() -> None:
    case = random_page(20, head_dim=32, dtype=torch.float16)
    arguments = (case.qkv.transpose(1, 2).contiguous().transpose(1, 2), *case.arguments[1:])
    got = fused_windows.attend(*arguments)
    assert got.dtype == torch.float16
    assert relative_error(got, page_reference(case)) < 2e-3
    empty = fused_windows.attend(case.qkv[:0], *case.arguments[1:])
    assert empty.shape == (0, 20, 20, 64)


@pytest.mark.parametrize("window", range(1, 17))
def test_parts_hold_every_key_of_a_window(window: int) -> None:
    parts = window_parts(window)
    assert 1 <= len(parts) <= 3
    assert all(part == power_of_two(part) for part in parts)
    assert window * window <= sum(parts) <= power_of_two(window * window)


@pytest.mark.parametrize(("side", "rows"), [(64, 1), (40, 3), (32, 2), (80, 1), (128, 1), (20, 3)])
def test_blocks_of_keys_are_filled_well(side: int, rows: int) -> None:
    assert best_rows(side) == rows
    assert rows * side <= power_of_two(rows * side) <= 128


def test_the_cpu_keeps_the_operators() -> None:
    assert not fused_grid.supports(*random_case(4, dtype=torch.bfloat16).arguments)
    case = random_page(4, dtype=torch.bfloat16)
    assert not fused_windows.supports(*case.arguments)
