"""Checkpoints of random weights: their sizes are those published, and a run reads with them."""

import json
from pathlib import Path

import pytest

from pipeline.cli.main import main as ocrbatch
from tests.benchmarks.runs.families.random_checkpoints import main, planned
from tests.benchmarks.runs.families.whole_sizes import WHOLE_SIZES

SAMPLES = Path(__file__).parents[3] / "samples"


@pytest.mark.parametrize("name", WHOLE_SIZES)
def test_published_sizes_have_as_many_parameters_as_published(name: str) -> None:
    size = WHOLE_SIZES[name]
    assert planned(size).num_parameters / 1e9 == pytest.approx(size.billions, rel=0.1)


@pytest.mark.parametrize(
    ("name", "setting"), [("qwen3-vl-8b", "threads=1"), ("deepseek-ocr", "tile.mode=tiny")]
)
def test_a_run_reads_with_one(
    name: str,
    setting: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    model, out = str(tmp_path / "model"), str(tmp_path / "out.json")
    words = [name, model, out, "--scale", "tiny", "--device", "cpu"]
    monkeypatch.setattr("sys.argv", ["random_checkpoints", *words])
    main()
    assert json.loads(Path(out).read_text())["parameters"] > 0
    bench = ["bench", "pipeline", str(SAMPLES / "report.pdf"), "--model", model, "--num-pages", "2"]
    bench += f"--output-tokens 5 --device cpu --output-json {out} --set store.doubtful_below=0".split()
    assert ocrbatch([*bench, "--set", "render.workers=1", "--set", setting]) == 0
    found = json.loads(Path(out).read_text())
    assert found["statuses"] == {"truncated": 2}
    assert found["num_tokens"] == 2 * 5, "each page gets as many tokens as asked for"
    assert "2 pages (2 truncated)" in capfd.readouterr().out
