import socket
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.parallel import assign, encode_shared, gather
from encoders.graphs.settings import GraphSettings
from tests.encoders.graphs.toys import CPU, ViewPath

# Rows of each page: its tokens with a newline a row and a separator, as DeepSeek-OCR lays them out.
PAGES: dict[str, list[int]] = {"uneven": [9 * 8 + 1, 3, 21, 1, 5], "one empty": [7], "none": []}


def encode(pages: Sequence[int]) -> list[dict[str, Tensor]]:
    """Pages differ in their rows, in their width, and in whether they have cells."""
    outputs = []
    for rows in pages:
        output = {"tokens": torch.arange(rows * rows, dtype=torch.bfloat16).view(rows, rows) + rows}
        if rows % 2:
            output["cells"] = torch.full((rows % 3, 1, 3), rows, dtype=torch.int16)
            output["odd"] = torch.ones(rows, dtype=torch.uint8)
        outputs.append(output)
    return outputs


def assert_as_alone(pages: Sequence[int], gathered: list[dict[str, Tensor]]) -> None:
    assert len(gathered) == len(pages)
    for expected, ours in zip(encode(pages), gathered, strict=True):
        assert ours.keys() == expected.keys()
        for name, value in expected.items():
            assert ours[name].dtype == value.dtype
            assert torch.equal(ours[name], value)


@given(sizes=st.lists(st.integers(1, 50), max_size=20), ranks=st.integers(1, 5))
def test_work_is_shared_out_evenly(sizes: list[int], ranks: int) -> None:
    shares = assign(sizes, ranks)
    assert len(shares) == ranks
    assert sorted(index for share in shares for index in share) == list(range(len(sizes)))
    assert all(share == sorted(share) for share in shares)
    loads = [sum(sizes[index] for index in share) for share in shares]
    assert max(loads) - min(loads) <= max(sizes, default=0)
    assert shares == assign(sizes, ranks)


def test_the_longest_is_placed_first() -> None:
    assert assign([1, 1, 1, 9, 5, 4], 2) == [[0, 2, 3], [1, 4, 5]]
    assert assign([3], 3) == [[0], [], []]


def test_alone_everything_stays_in_order() -> None:
    for pages in PAGES.values():
        assert_as_alone(pages, encode_shared(pages, pages, encode, CPU))


def test_the_managers_outputs_can_be_gathered() -> None:
    path = ViewPath()
    manager = EncoderGraphManager([path], GraphSettings(), CPU)
    units = [path.unit(side, side) for side in (8, 16, 12)]
    gathered = encode_shared(
        units,
        [unit.tokens for unit in units],
        lambda mine: [unit.outputs for unit in manager.encode({"global": mine})["global"]],
        CPU,
    )
    assert [output["tokens"].shape for output in gathered] == [(1, 16, 5), (1, 64, 5), (1, 36, 5)]


def test_outputs_that_do_not_match_the_shares_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\[2\] outputs for shares of \[1\]"):
        gather(encode([3, 4]), [[0]], CPU)


def encode_on_rank(rank: int, port: int, out: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    counted: list[int] = []

    def counting(pages: Sequence[int]) -> list[dict[str, Tensor]]:
        counted.append(len(pages))
        return encode(pages)

    results = {name: encode_shared(pages, pages, counting, CPU) for name, pages in PAGES.items()}
    torch.save({"results": results, "counted": counted}, f"{out}/{rank}.pt")
    dist.destroy_process_group()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.mark.slow
def test_two_ranks_with_uneven_and_empty_shares(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(encode_on_rank, (free_port(), str(tmp_path)), nprocs=2)
    told = [torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2)]
    for rank in told:
        for name, pages in PAGES.items():
            assert_as_alone(pages, rank["results"][name])
    assert [rank["counted"] for rank in told] == [[1, 1], [4]], "each page is encoded on one rank"
