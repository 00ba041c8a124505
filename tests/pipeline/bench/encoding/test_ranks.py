"""`ocrbatch bench encoder --ranks`: the encoder spread over ranks gives what one rank gives."""

import json
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from pipeline.bench.encoding.encoder_bench import BenchSettings
from pipeline.bench.encoding.ranks import assign, bench_ranks, gather, measured
from pipeline.bench.encoding.subjects import load_encoder
from pipeline.cli.main import cli
from pipeline.errors import ConfigError
from tests.ocr.families.published import tiny_published
from tests.pipeline.bench.encoding.test_families import minicpm

CPU = torch.device("cpu")
BUCKETS = {(90, 130): 0.5, (60, 44): 0.5}


def command(*words: str) -> Result:
    few = ["--num-prompts", "3", "--num-warmups", "1", "--batch-size", "2", "--buckets", str(BUCKETS)]
    return CliRunner().invoke(cli, ["bench", "encoder", *few, *words])


def test_two_ranks_give_what_one_gives(tmp_path: Path) -> None:
    model, output = minicpm("4.5", tmp_path), tmp_path / "ranks.json"
    result = command("--device", "cpu", "--model", model, "--ranks", "2", "--output-json", str(output))
    assert result.exit_code == 0, result.exception
    found = json.loads(output.read_text(encoding="utf-8"))
    alone, shared = found["arms"]
    assert (alone["arm"], shared["arm"]) == ("graph", "graph, 2 ranks")
    assert found["parity"]["graph, 2 ranks to graph"] < 1e-5
    ranks = found["ranks"]
    assert (ranks["ranks"], ranks["num_pages"], ranks["is_same_everywhere"]) == (2, 3, True)
    assert min(ranks["shares"]) > 0, "both encode something"
    assert ranks["speed_up"] == pytest.approx(alone["page_ms"] / shared["page_ms"])
    assert "Parity, graph, 2 ranks to graph: largest" in result.output
    assert "WRONG" not in result.output


@pytest.mark.parametrize("kind", ["qwen3_vl", "granite_docling"])
def test_pages_come_back_in_order(kind: str, tmp_path: Path) -> None:
    """A single rank in this process: granite_docling's encoder forms no units."""
    settings = BenchSettings(
        model=str(tiny_published.save(kind, tmp_path / "model")), num_prompts=3, batch_size=3, num_warmups=1,
        buckets={(140, 112): 0.5, (64, 96): 0.5},
    )  # fmt: skip
    subject = load_encoder(settings.model, CPU, "float32")
    found, _ = measured(settings, subject, CPU, 0, 1, f"file://{tmp_path}/store")
    ((name, error),) = found["parity"].items()
    assert name.startswith("eager, 1 ranks" if kind == "granite_docling" else "graph, 1 ranks")
    assert error < 1e-5
    assert (found["ranks"]["shares"], found["ranks"]["num_pages"]) == ([3], 3)


@pytest.mark.parametrize("rows", [[9 * 8 + 1, 3, 20, 1, 5], [7], []])
def test_tokens_of_any_dtype_and_shape_are_gathered(rows: list[int], tmp_path: Path) -> None:
    def encoded(count: int) -> torch.Tensor:
        dtype = torch.float32 if count % 2 else torch.bfloat16
        return torch.arange(count * 3, dtype=dtype).view(count, 3)

    dist.init_process_group("gloo", f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        shares = [list(reversed(range(len(rows))))]
        found = gather([encoded(count) for count in reversed(rows)], shares, CPU)
    finally:
        dist.destroy_process_group()
    for output, count in zip(found, rows, strict=True):
        torch.testing.assert_close(output, encoded(count), rtol=0, atol=0)


@given(sizes=st.lists(st.integers(1, 50), max_size=20), ranks=st.integers(1, 5))
def test_work_is_shared_out_evenly(sizes: list[int], ranks: int) -> None:
    shares = assign(sizes, ranks)
    assert len(shares) == ranks
    assert sorted(index for share in shares for index in share) == list(range(len(sizes)))
    assert all(share == sorted(share) for share in shares)
    loads = [sum(sizes[index] for index in share) for share in shares]
    assert max(loads) - min(loads) <= max(sizes, default=0)


def test_the_largest_is_placed_first() -> None:
    assert assign([1, 1, 1, 9, 5, 4], 2) == [[0, 2, 3], [1, 4, 5]]
    assert assign([3], 3) == [[0], [], []]


def test_too_few_gpus_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert "this machine has 0" in str(command("--ranks", "2").exception)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ConfigError, match="--ranks 2: each takes a GPU of its own, and this machine has 1"):
        bench_ranks(BenchSettings(device="cuda", buckets=BUCKETS), 2)
    with pytest.raises(ConfigError, match="no sizes are listed for 'qwen9'"):
        bench_ranks(BenchSettings(model="random:qwen9", buckets=BUCKETS), 2)
    with pytest.raises(ConfigError, match="--budgets auto"):
        bench_ranks(BenchSettings(budgets="auto", buckets=BUCKETS), 1)


@pytest.mark.slow
def test_a_rank_that_refuses_says_why() -> None:
    result = command("--device", "cpu", "--frames", "2", "--ranks", "2")
    assert isinstance(result.exception, ConfigError)
    assert "takes no videos" in str(result.exception)
