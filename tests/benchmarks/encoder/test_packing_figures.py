"""The host's part of a batch is measured step by step, without a device."""

import json
from pathlib import Path

import pytest

from tests.benchmarks.encoder.packing_figures import CASES, main


def test_each_step_has_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "packing.json"
    assert main(["--models", "minicpm-v-4.5", "--repeats", "1", "--output", str(output)]) == 0
    (found,) = json.loads(output.read_text(encoding="utf-8")).values()
    assert {case: times["units_made"] for case, times in found.items()} == dict(
        zip(CASES, (1, 7, 10, 80), strict=True)
    )
    for times in found.values():
        assert times["all"] == pytest.approx(times["units"] + times["checks"] + times["staging"])
        assert min(times.values()) > 0
    assert "minicpm-v-4.5, A4 page, 10 units, ms: units" in capsys.readouterr().out
