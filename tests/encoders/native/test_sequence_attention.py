from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from encoders.attention.switch import kernel_allowed, one_backend, plain_only
from encoders.native import sequence_attention as attention
from encoders.native.sequence_attention import Sequences

# Lengths, and rows of padding after them.
CASES = [([7], 0), ([5, 5, 5], 0), ([9, 1, 4], 3), ([1, 1, 1, 1], 2), ([12], 20), ([3, 8, 2, 8], 11), ([], 6)]


class NoHostReads(TorchDispatchMode):
    """Fails where the host looks at a value, which a graph's capture would refuse, or at how many there are."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.name()
        assert not name.startswith(("aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero")), name
        assert name not in (
            "aten::masked_select",
            "aten::unique_consecutive",
            "aten::repeat_interleave.Tensor",
        )
        return func(*args, **(kwargs or {}))


def by_definition(query: Tensor, key: Tensor, value: Tensor, ends: list[int]) -> Tensor:
    """One sequence after the other, in float64."""
    parts = []
    for start, end in pairwise([0, *ends]):
        q, k, v = (tensor[start:end].double() for tensor in (query, key, value))
        scores = torch.einsum("qhd,khd->hqk", q, k) * q.shape[-1] ** -0.5
        parts.append(torch.einsum("hqk,khd->qhd", scores.softmax(-1), v))
    return torch.cat([*parts, query[:0].double()])


def problem(
    lengths: list[int], padding: int, empty: int = 0, dtype: torch.dtype = torch.float32
) -> tuple[list[Tensor], Sequences, list[int]]:
    """Queries, keys and values, whose padding is NaN; sequences with empty ones behind; and their ends."""
    ends = torch.tensor(lengths, dtype=torch.int64).cumsum(0).tolist()
    used = ends[-1] if ends else 0
    generator = torch.Generator().manual_seed(used + padding)
    tensors = [torch.randn(used + padding, 2, 16, generator=generator).to(dtype) for _ in range(3)]
    for tensor in tensors:
        tensor[used:] = torch.nan
    offsets = torch.tensor([0, *ends, *[used] * (empty or not ends)], dtype=torch.int32)
    return tensors, Sequences(offsets, max(lengths, default=1)), ends


@pytest.mark.parametrize("way", ["_padded", "_masked"])
@pytest.mark.parametrize("empty", [0, 3])
@pytest.mark.parametrize(("lengths", "padding"), CASES)
def test_each_sequence_attends_to_itself_alone(
    monkeypatch: pytest.MonkeyPatch, lengths: list[int], padding: int, empty: int, way: str
) -> None:
    monkeypatch.setattr(attention, "_MASKED_QUERIES", 4)
    tensors, sequences, ends = problem(lengths, padding, empty)
    with NoHostReads():
        ours = getattr(attention, way)(*tensors, sequences)
    used = sum(lengths)
    assert torch.allclose(ours[:used].double(), by_definition(*tensors, ends), atol=1e-6)


@pytest.mark.parametrize("way", ["_padded", "_masked"])
def test_longest_may_be_more_than_needed(way: str) -> None:
    tensors, sequences, ends = problem([4, 6, 3], 5)
    ours = getattr(attention, way)(*tensors, Sequences(sequences.offsets, 18))
    assert torch.allclose(ours[:13].double(), by_definition(*tensors, ends), atol=1e-6)


def test_padding_of_finite_rows_is_finite() -> None:
    tensors, sequences, _ = problem([4, 6], 9, empty=2)
    finite = [tensor.nan_to_num(5.0) for tensor in tensors]
    for way in (attention._padded, attention._masked):
        assert way(*finite, sequences).isfinite().all()
    assert attention._masked(*tensors, sequences).isfinite().all()


@pytest.mark.parametrize(
    ("lengths", "way"), [([8, 8, 8], "_padded"), ([30, 1, 1, 1], "_masked"), ([9], "_padded")]
)
def test_takes_the_way_of_less_work(monkeypatch: pytest.MonkeyPatch, lengths: list[int], way: str) -> None:
    tensors, sequences, ends = problem(lengths, 0)
    taken = []
    for name in ("_padded", "_masked"):
        function = getattr(attention, name)
        monkeypatch.setattr(
            attention, name, lambda *a, name=name, function=function: taken.append(name) or function(*a)
        )
    ours = attention.sequence_attention(*tensors, sequences)
    assert taken == [way]
    assert torch.allclose(ours.double(), by_definition(*tensors, ends), atol=1e-6)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dim", [64, 72, 80])
def test_the_kernel_computes_the_same(dim: int) -> None:
    """In a graph, with memory full of NaN where the kernel writes nothing."""
    device = torch.device("cuda")
    generator = torch.Generator(device).manual_seed(0)
    tensors = [
        torch.randn(300, 4, dim, generator=generator, device=device).to(torch.bfloat16) for _ in range(3)
    ]
    offsets = torch.tensor([0, 100, 101, 256, 256, 256], dtype=torch.int32, device=device)
    attention.sequence_attention(*tensors, Sequences(offsets, 300))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ours = attention.sequence_attention(*tensors, Sequences(offsets, 300))
    offsets.copy_(torch.tensor([0, 30, 190, 250, 270, 270], dtype=torch.int32))
    graph.replay()
    with plain_only():
        plain = attention.sequence_attention(*tensors, Sequences(offsets, 300))
    expected = by_definition(*tensors, [30, 190, 250, 270])
    for result in (ours, plain):
        assert result.isfinite().all()
        assert (result[:270].double() - expected).abs().max() < 2e-2


def test_one_back_end_takes_the_kernels_place_or_says_that_it_cannot() -> None:
    tensors, sequences, ends = problem([5, 3, 8], 2)
    expected = by_definition(*tensors, ends)
    with one_backend("flash"):
        found = attention.sequence_attention(*tensors, sequences)
    torch.testing.assert_close(found[: ends[-1]].double(), expected, atol=1e-5, rtol=1e-5)
    for name in ("varlen", "cudnn", "efficient"):
        with one_backend(name), pytest.raises(RuntimeError):
            attention.sequence_attention(*tensors, sequences)
    with one_backend(None):
        assert torch.equal(attention.sequence_attention(*tensors, sequences).isnan(), found.isnan())
    plain = attention.sequence_attention(*tensors, sequences)
    torch.testing.assert_close(plain[: ends[-1]].double(), expected, atol=1e-5, rtol=1e-5)


def test_a_kernel_that_was_asked_for_is_not_replaced_where_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Tensor:
        raise RuntimeError("no kernel image")

    monkeypatch.setattr(attention, "_by_pytorch", fails)
    tensors, sequences, _ = problem([5, 3], 0)
    with one_backend("varlen"), pytest.raises(RuntimeError, match="no kernel image"):
        attention.sequence_attention(*tensors, sequences)
    assert kernel_allowed("varlen_attn", torch.device("cpu")), "outside, it is taken where it runs"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("count", "dim"), [(1, 72), (2, 80)])
def test_long_sequences_of_one_length_are_alike_through_cudnn(count: int, dim: int) -> None:
    device = torch.device("cuda")
    generator = torch.Generator(device).manual_seed(0)
    rows, length = count * attention._LONG, attention._LONG
    query, key, value = (
        torch.randn(rows, 4, dim, generator=generator, device=device).to(torch.bfloat16) for _ in range(3)
    )
    offsets = torch.arange(count + 1, dtype=torch.int32, device=device) * length
    filled = attention.sequence_attention(query, key, value, Sequences(offsets, length, filled=True))
    ours = attention.sequence_attention(query, key, value, Sequences(offsets, length))
    assert (filled.double() - ours.double()).abs().max() < 2e-2
    assert kernel_allowed("cudnn_attention", device), "it runs here"
