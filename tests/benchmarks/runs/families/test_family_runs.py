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


def test_two_families_run_and_add_to_their_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, folder = tmp_path / "rows.json", tmp_path / "temporary"
    folder.mkdir()
    pages = ["--pages", "2", "--folder", str(folder), "--docs", str(SAMPLES / "report.pdf")]
    run(output, "--models", "qwen3-vl-8b", *pages)
    rows = run(output, "--models", "deepseek-ocr", *pages, "--arms", "default", "--set", "tile.mode=tiny")
    assert [(row["model"], row["arm"]) for row in rows] == [
        ("qwen3-vl-8b", "default"), ("qwen3-vl-8b", "graphs"), ("deepseek-ocr", "default"),
    ]  # fmt: skip
    for row in rows:
        assert row["statuses"] == {"truncated": 2}
        assert row["share_with_status"] == 1
        assert row["num_tokens"] == 2 * 5, "each page gets as many tokens as asked for, whatever its prompt"
        assert row["pages_s_since_loaded"] > row["pages_s"] > 0
        assert {"render", "encode", "decode"} <= set(row["busy_s"])
        assert sum(its["eager"] for its in row["encoder"].values()) == 2
    assert not list(folder.iterdir()), "checkpoints are removed"
    assert "at most 5 a page, as random weights never end" in capsys.readouterr().out


def test_a_model_that_fails_leaves_its_traceback_and_the_next_one_runs(tmp_path: Path) -> None:
    output = tmp_path / "rows.json"
    missing = str(tmp_path / "missing.pdf")
    rows = run(output, "--models", "got-ocr2,glm-ocr", "--docs", missing)
    assert [(row["model"], row["arm"]) for row in rows] == [("got-ocr2", "default"), ("glm-ocr", "default")]
    assert all("Traceback" in row["error"] and "missing.pdf" in row["error"] for row in rows)


def test_a_model_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    (row,) = run(tmp_path / "rows.json", "--models", "glm-ocr", "--seconds", "0.1")
    assert "ended by --seconds 0.1" in row["error"]
