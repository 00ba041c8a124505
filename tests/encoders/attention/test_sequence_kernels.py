"""The kernel for sequences through Triton's interpreter, which needs no GPU."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from tests.interpreter import interpreted, not_interpreted, run_interpreted

pytest.importorskip("triton")
from encoders.attention.fused_sequences import SequenceConfig, launch, tiles

SMALL = SequenceConfig(block_m=16, block_n=16, num_stages=1)


@pytest.mark.slow
@not_interpreted
def test_through_the_interpreter() -> None:
    run_interpreted(__file__)


def drawn(rows: int, heads: int, head_dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """Returns query, key and value as they lie in their projection."""
    generator = torch.Generator().manual_seed(rows)
    query, key, value = torch.randn(rows, 3, heads, head_dim, generator=generator).unbind(1)
    return query, key, value


def expected(query: Tensor, key: Tensor, value: Tensor, lengths: list[int]) -> Tensor:
    parts = [
        functional.scaled_dot_product_attention(*(each.transpose(0, 1) for each in part)).transpose(0, 1)
        for part in zip(*(tensor.split(lengths) for tensor in (query, key, value)), strict=True)
    ]
    return torch.cat(parts)


def offsets_of(lengths: list[int]) -> Tensor:
    return torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0, dtype=torch.int32)


def test_tiles_cover_every_row_once() -> None:
    found = tiles(offsets_of([5, 0, 40, 16, 0]), 70, block_m=16)
    assert found.dtype == torch.int32
    assert len(found) == 5 + 6
    real = [entry for entry in found.tolist() if entry[2] > entry[1]]
    assert real == [[0, 0, 5], [5, 5, 45], [21, 5, 45], [37, 5, 45], [45, 45, 61], [61, 61, 70]]


def test_tiles_of_full_batches_have_no_padding() -> None:
    found = tiles(offsets_of([16, 16]), 32, block_m=16)
    assert [entry for entry in found.tolist() if entry[2] > entry[1]] == [[0, 0, 16], [16, 16, 32]]


@interpreted
@pytest.mark.parametrize("head_dim", [16, 24, 64, 72, 80, 128])
def test_equals_the_definition(head_dim: int) -> None:
    lengths = [33, 1, 16, 40]
    query, key, value = drawn(sum(lengths), 2, head_dim)
    got = launch(query, key, value, tiles(offsets_of(lengths), len(query), 16), SMALL)
    assert got.is_contiguous()
    torch.testing.assert_close(got, expected(query, key, value, lengths), rtol=1e-4, atol=1e-5)


@interpreted
def test_nan_beyond_a_sequence_leaves_it_alone() -> None:
    lengths = [20, 25]
    query, key, value = drawn(60, 2, 72)
    for tensor in (query, key, value):
        tensor[20:] = float("nan")
    got = launch(query, key, value, tiles(offsets_of(lengths), 60, 16), SMALL)
    right = expected(query[:20], key[:20], value[:20], [20])
    torch.testing.assert_close(got[:20], right, rtol=1e-4, atol=1e-5)


@interpreted
def test_rows_after_the_last_sequence_are_written() -> None:
    query, key, value = drawn(50, 2, 24)
    got = launch(query, key, value, tiles(offsets_of([17, 0, 0]), 50, 16), SMALL)
    right = expected(query, key, value, [17, 33])
    torch.testing.assert_close(got, right, rtol=1e-4, atol=1e-5)
