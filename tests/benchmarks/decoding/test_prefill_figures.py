import json
from pathlib import Path

import pytest

from tests.benchmarks.decoding.prefill_figures import MODES, SECTIONS, main


def test_the_program_runs_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "figures.json"
    assert main([str(output), "--quick"]) == 0, capsys.readouterr().err
    found = json.loads(output.read_text())
    assert set(found) == set(SECTIONS)
    for mode in MODES:
        assert found["prefill"][f"2, {mode}"]["tflops_s"] > 0
        assert found["kernels"][f"2, {mode}"][0]["kernel"] == "ALL"
    errors = [row["off_by"] for row in found["experts"]["2 pages"] if "off_by" in row]
    assert len(errors) >= 2
    assert max(errors) < 0.02
    assert "== pieces" in capsys.readouterr().out
