"""`ocrbatch bench encoder --ranks`: the encoder spread over ranks gives what one rank gives."""

import json
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from click.testing import CliRunner, Result

from pipeline.bench.encoding.encoder_bench import BenchSettings
from pipeline.bench.encoding.load_encoder import load_encoder
from pipeline.bench.ranks import rank_bench
from pipeline.bench.ranks.shared_encoder import SharedEncoder
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
    assert (found["ranks"], found["arm"], found["num_pages"]) == (2, "graph", 3)
    assert found["is_same_everywhere"]
    assert found["largest_error"] < 1e-5
    assert min(found["shares"]) > 0, "both encode something"
    assert found["speed_up"] == pytest.approx(found["alone_ms"] / found["shared_ms"])
    assert "2 ranks" in result.output
    assert "WRONG" not in result.output


@pytest.mark.parametrize("kind", ["qwen3_vl", "granite_docling"])
def test_units_and_whole_pages_come_back_in_order(kind: str, tmp_path: Path) -> None:
    """A single rank in this process: granite_docling's encoder forms no units, and is shared by the page."""
    settings = BenchSettings(
        model=str(tiny_published.save(kind, tmp_path / "model")), num_prompts=3, batch_size=3, num_warmups=1,
        buckets={(140, 112): 0.5, (64, 96): 0.5},
    )  # fmt: skip
    subject = load_encoder(settings.model, CPU, "float32")
    arm, batches = rank_bench.prepared(settings, subject, CPU)
    dist.init_process_group("gloo", f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        found = rank_bench.measure(settings, SharedEncoder(subject.encoder, arm), batches, arm.name, CPU)
    finally:
        dist.destroy_process_group()
    assert (found["arm"], found["shares"]) == ("eager" if kind == "granite_docling" else "graph", [3])
    assert (found["num_pages"], found["largest_error"] < 1e-5, found["is_same_everywhere"]) == (3, True, True)
    with torch.inference_mode():
        expected = arm.encode(batches[0])
        ours = SharedEncoder(subject.encoder, arm).alone(batches[0])
    for tokens, its in zip(ours, expected, strict=True):
        torch.testing.assert_close(tokens, its)


def test_too_few_gpus_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert "this machine has 0" in str(command("--ranks", "2").exception)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ConfigError, match="--ranks 2: each takes a GPU of its own, and this machine has 1"):
        rank_bench.bench(BenchSettings(device="cuda", buckets=BUCKETS), 2)
    with pytest.raises(ConfigError, match="no sizes are listed for 'qwen9'"):
        rank_bench.bench(BenchSettings(model="random:qwen9", buckets=BUCKETS), 2)
    with pytest.raises(ConfigError, match="--budgets auto"):
        rank_bench.bench(BenchSettings(budgets="auto", buckets=BUCKETS), 1)


@pytest.mark.slow
def test_a_rank_that_refuses_says_why() -> None:
    result = command("--device", "cpu", "--frames", "2", "--ranks", "2")
    assert isinstance(result.exception, ConfigError)
    assert "takes no videos" in str(result.exception)
