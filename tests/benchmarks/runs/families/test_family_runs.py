"""Whole runs of families: two of them run, failures leave their rows, and sizes are those published."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.runs.families.family_runs import main
from tests.benchmarks.runs.families.random_checkpoints import planned
from tests.benchmarks.runs.families.whole_sizes import WHOLE_SIZES

SAMPLES = Path(__file__).parents[3] / "samples"
TINY = ["--scale", "tiny", "--device", "cpu", "--set", "render.workers=1", "--set", "threads=1"]


def run(output: Path, *words: str) -> list[dict[str, Any]]:
    main([*TINY, "--tokens", "5", "--output", str(output), *words])
    rows: list[dict[str, Any]] = json.loads(output.read_text(encoding="utf-8"))
    return rows


@pytest.mark.parametrize("name", WHOLE_SIZES)
def test_published_sizes_have_as_many_parameters_as_published(name: str) -> None:
    size = WHOLE_SIZES[name]
    assert planned(size).num_parameters / 1e9 == pytest.approx(size.billions, rel=0.1)


def test_two_families_run_and_add_to_their_output(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    output, folder = tmp_path / "rows.json", tmp_path / "temporary"
    folder.mkdir()
    pages = ["--pages", "2", "--folder", str(folder), "--docs", str(SAMPLES / "report.pdf")]
    run(output, "--models", "qwen3-vl-8b", *pages)
    rows = run(output, "--models", "deepseek-ocr", *pages, "--set", "tile.mode=tiny")
    assert [row["model"] for row in rows] == ["qwen3-vl-8b", "deepseek-ocr"]
    for row in rows:
        assert row["written"]["parameters"] > 0
        assert row["run"]["statuses"] == {"truncated": 2}
        assert row["run"]["num_tokens"] == 2 * 5, "each page gets as many tokens as asked for"
        whole, since, *_ = row["run"]["speeds"]
        assert since["pages_s"] > whole["pages_s"] > 0
    assert not list(folder.iterdir()), "checkpoints are removed"
    assert "2 pages (2 truncated)" in capfd.readouterr().out


def test_a_model_that_fails_or_takes_too_long_leaves_a_row_and_the_next_one_runs(tmp_path: Path) -> None:
    output = tmp_path / "rows.json"
    rows = run(output, "--models", "got-ocr2,glm-ocr", "--docs", str(tmp_path / "missing.pdf"))
    assert [row["model"] for row in rows] == ["got-ocr2", "glm-ocr"]
    assert all("missing.pdf" in row["error"] and "exit code" in row["error"] for row in rows)
    *_, row = run(output, "--models", "glm-ocr", "--seconds", "0.1")
    assert row["error"] == "ended by --seconds 0.1"
