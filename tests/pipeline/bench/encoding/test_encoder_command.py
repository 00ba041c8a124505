"""`ocrbatch bench encoder` for models of other families than DeepSeek-OCR's."""

import json
import re
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result

from pipeline.bench.encoding.encoder_bench import BenchSettings, further_ranks
from pipeline.bench.encoding.subjects import deepseek_subject
from pipeline.cli.main import cli
from pipeline.errors import ConfigError
from tests.ocr.families.published.tiny_published import save
from tests.ocr.tiny import tiny_model
from tests.pipeline.bench.encoding.test_families import minicpm
from tests.pipeline.checkpoints import save_reader


def command(*words: str) -> Result:
    few = ["--device", "cpu", "--num-prompts", "3", "--num-warmups", "1"]
    return CliRunner().invoke(cli, ["bench", "encoder", *few, *words])


def test_videos_of_a_checkpoint(tmp_path: Path) -> None:
    model, output = save("qwen3_vl", tmp_path / "model"), tmp_path / "bench.json"
    result = command(
        "--model", str(model), "--frames", "4", "--buckets", "{(64, 96): 1.0}", "--memory-limit", "64",
        "--budgets", "fitted", "--output-json", str(output),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    found = json.loads(output.read_text())
    assert [arm["arm"] for arm in found["arms"]] == ["reference", "eager", "graph"]
    assert found["parity"]["graph to eager"] < 1e-4
    assert found["parity"]["eager to reference"] < 1e-4
    assert found["parity"]["graph to reference"] < 1e-4
    assert (found["settings"]["frames"], found["settings"]["memory_limit"]) == (4, 64 << 20)
    assert found["missing_arms"] == {}
    for path in ("image", "video"):
        stats = found["arms"][2]["statistics"][path]
        assert {"hits", "padding_share", "graph_bytes"} <= set(stats)
    assert found["arms"][2]["statistics"]["video"]["eager"] == 3
    assert "graph, encoder video" in result.output
    assert "Parity, eager to reference: largest relative difference" in result.output
    table = result.output[result.output.index("====") :]
    assert max(map(len, table.splitlines())) <= 80


def test_a_model_without_reference_says_so(tmp_path: Path) -> None:
    model = minicpm("4.5", tmp_path)
    result = command("--model", model, "--buckets", "{(60, 44): 1.0}")
    assert result.exit_code == 0, result.output
    assert "No arm reference: transformers has no class for this model" in result.output
    assert "Parity, graph to eager" in result.output
    assert "to reference" not in result.output


def test_ranks_stand_beside_one_device(tmp_path: Path) -> None:
    """Each of our arms is measured shared out as well, with the tokens that one device gives."""
    model, output = minicpm("4.5", tmp_path), tmp_path / "ranks.json"
    result = command(
        "--model", model, "--ranks", "2", "--batch-size", "3", "--output-json", str(output),
        "--buckets", "{(90, 130): 0.5, (60, 44): 0.5}",
    )  # fmt: skip
    assert result.exit_code == 0, result.exception
    found = json.loads(output.read_text())
    arms = {arm["arm"]: arm for arm in found["arms"]}
    assert list(arms) == ["eager", "graph", "eager, 2 ranks", "graph, 2 ranks"]
    assert max(found["parity"].values()) < 1e-5
    for name in ("eager", "graph"):
        shared = arms[f"{name}, 2 ranks"]
        assert found["speed_up"][f"{name}, 2 ranks"] == pytest.approx(
            arms[name]["page_ms"] / shared["page_ms"]
        )
        assert f"{name}, 2 ranks: {found['speed_up'][f'{name}, 2 ranks']:.2f} times" in result.output
    units = [arms[name]["statistics"]["slices"]["eager"] for name in ("graph", "graph, 2 ranks")]
    assert units[0] == units[1] > 0


def test_requests_of_several_items_arrive_at_a_rate(tmp_path: Path) -> None:
    """Too many a second, so that they wait, and batches are as large as they may be."""
    model, output = save("qwen3_vl", tmp_path / "model"), tmp_path / "bench.json"
    result = command(
        "--model", str(model), "--items-per-request", "1", "3", "--buckets", "{(64, 96): 1.0}", "--batch-size", "2",
        "--request-rate", "10000", "--percentile", "50", "--percentile", "90", "--attention", "flash",
        "--num-prompts", "5", "--output-json", str(output),
    )  # fmt: skip
    assert result.exit_code == 0, result.exception
    found = json.loads(output.read_text())
    assert found["settings"]["attention"] == "flash"
    assert "Attention of our arms: flash" in result.output
    assert len(found["grids"]) > 5, "each item has one"
    assert max(found["parity"].values()) < 1e-4
    for arm in found["arms"]:
        assert arm["num_requests"] == 5
        assert {"p50", "p90"} <= set(arm["end_to_end_ms"])
        assert "p99" not in arm["end_to_end_ms"]
        parts = ("preprocessor_total_ms", "queueing_ms", "encoder_forward_ms")
        assert arm["end_to_end_ms"]["mean"] == pytest.approx(sum(arm[part]["mean"] for part in parts))
        assert arm["queueing_ms"]["p90"] > 0
    table = result.output[result.output.index("queueing_ms") :].splitlines()[0].split()
    assert len(table) == 6, "mean, median, std and both percentiles"


@pytest.mark.parametrize(
    ("model_type", "name", "reason"),
    [
        ("qwen3_vl", "cudnn", "No viable backend"),
        ("qwen3_vl", "varlen", "PyTorch .* does not run it for this model in float32 on cpu"),
        ("deepseek_ocr2", "varlen", "attends within no sequences"),
        ("got_ocr2", "varlen", "attends within no sequences"),
    ],
)
def test_attention_that_does_not_run_here_is_refused(
    model_type: str, name: str, reason: str, tmp_path: Path
) -> None:
    model = save(model_type, tmp_path / "model")
    result = command("--model", str(model), "--attention", name, "--buckets", "{(64, 96): 1.0}")
    assert isinstance(result.exception, ConfigError)
    assert re.search(f"--attention {name}: .*leave it out", str(result.exception))
    assert re.search(reason, str(result.exception))


def test_ranks_that_cannot_be_had_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--ranks 2: --budgets auto looks at whole batches"):
        further_ranks(BenchSettings(budgets="auto", buckets={}, ranks=2), deepseek_subject(tiny_model()))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    words = ["bench", "encoder", "--ranks", "2"]
    assert "PyTorch finds no CUDA GPU" in str(CliRunner().invoke(cli, words).exception)
    result = command("--model", str(save("granite_docling", tmp_path / "model")), "--ranks", "2")
    assert "--ranks 2: this model's encoder takes whole pages" in str(result.exception)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "random:qwen9"], "choose from deepseek-ocr, deepseek-ocr-2, qwen3-vl-8b"),
        (["--model", "small"], "No page model ships with ocrbatch since 0.1.0"),
        (["--frames", "2"], "takes no videos"),
        (["--budgets", "{slices: [64]}"], "--budgets: budgets names a path slices; this encoder has"),
        (["--frames", "2", "--pages", "."], "exclude each other"),
    ],
)
def test_what_cannot_be_measured_is_refused(words: list[str], message: str, tmp_path: Path) -> None:
    own = [] if "--model" in words else ["--model", str(save_reader(tmp_path / "tiny"))]
    result = command(*own, *words)
    assert result.exit_code != 0
    assert message in str(result.exception)
