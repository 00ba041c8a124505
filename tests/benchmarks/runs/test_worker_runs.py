"""Runs with workers beside the plain run: what is told of them."""

import json
from pathlib import Path

import pytest

from tests.benchmarks.runs.worker_runs import main, told

SAMPLES = Path(__file__).parents[2] / "samples"


def test_speeds_are_medians_next_to_the_first_arm() -> None:
    rows = [
        {"arm": arm, "pages_s": pages_s, "wall_s": 2.0, "cpu_s_a_page": cpu}
        for arm, pages_s, cpu in (
            ("plain", 4.0, 1.0),
            ("plain", 2.0, 1.5),
            ("plain", 1.0, 3.0),
            ("ray:1", 1.0, None),
        )
    ]
    assert list(told(rows, ["plain", "ray:1"])) == [
        "plain: 2.000 pages/s (1.000 of plain), 2.0 s in all, 1.50 CPU s a page",
        "ray:1: 1.000 pages/s (0.500 of plain), 2.0 s in all",
    ]


@pytest.mark.slow
def test_both_arms_store_the_same_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--docs", str(SAMPLES / "two-column.pdf"), "--pages", "4", "--times", "1", "--set", "threads=1"]
    assert main([*words, "--output", str(tmp_path / "rows.json")]) == 0
    plain, local = json.loads((tmp_path / "rows.json").read_text())
    assert plain["statuses"] == local["statuses"]
    assert float(capsys.readouterr().out.splitlines()[-1].split(" KB")[0]) > 0.1
