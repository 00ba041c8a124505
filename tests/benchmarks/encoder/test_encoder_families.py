"""The comparison of families: which bars are met, and that it runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.encoder.encoder_families import bars, main, table


def row(**other: Any) -> dict[str, Any]:
    made = {
        "model": "m", "case": "image, 1", "batch_size": 1, "frames": 0, "mixed": False,
        "ms": {"eager": 13.0, "graph": 10.0}, "hits": 3, "units": 4, "padding": 0.01, "graph_bytes": 5 << 20,
        "parity": {"graph to eager": 1e-6},
    }  # fmt: skip
    return made | other


def missed(*rows: dict[str, Any], memory_limit: int = 8 << 20) -> list[str]:
    return [told.partition(":")[0] for met, told in bars(rows, memory_limit) if not met]


def test_each_bar_is_missed_by_its_own_row() -> None:
    assert missed(row()) == []
    assert missed(row(ms={"eager": 12.9, "graph": 10.0})) == ["1.3 times eager's speed at batch 1"]
    large = row(case="image, 32", batch_size=32, ms={"eager": 10.0, "graph": 10.19})
    assert missed(row(), large) == []
    slow = row(case="image, 32", batch_size=32, ms={"eager": 10.0, "graph": 10.21})
    assert missed(row(), slow) == ["never over 2% slower than eager"]
    assert missed(row(), row(frames=8, ms={"eager": 10.0, "graph": 10.0})) == ["video faster than eager"]
    assert missed(row(padding=0.06)) == []
    assert missed(row(padding=0.06, mixed=True)) == ["padding under 5%"]
    assert missed(row(), memory_limit=4 << 20) == ["captured within 4 MiB"]


def test_the_table_leaves_out_what_was_not_measured() -> None:
    first, *_, last = table([row(), row(ms={"eager": 13.0, "graph": 10.0, "reference": 25.0})])
    assert first.count("|") == last.count("|")
    assert [cell.strip() for cell in last.split("|")[3:8]] == ["25.00", "13.00", "10.00", "1.30", "2.50"]
    assert [cell.strip() for cell in list(table([row()]))[-1].split("|")[3:8]] == [
        "",
        "13.00",
        "10.00",
        "1.30",
        "",
    ]


def test_it_runs_and_adds_to_its_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "families.json"
    for model in ("qwen3-vl-8b", "minicpm-v-2.5"):
        main(["--quick", "--models", model, "--output", str(output)])
    rows = json.loads(output.read_text())
    cases = [(row["model"], row["case"]) for row in rows]
    assert cases == [
        ("qwen3-vl-8b", "mixed, 2"), ("qwen3-vl-8b", "image, 1"), ("qwen3-vl-8b", "video 4"),
        ("minicpm-v-2.5", "mixed, 2"), ("minicpm-v-2.5", "image, 1"),
    ]  # fmt: skip
    assert rows[0]["parity"]["eager to reference"] < 1e-4
    assert "captured within 8192 MiB" in capsys.readouterr().out
