import json
from pathlib import Path

import pytest

from tests.benchmarks.decoding import prefill_figures
from tests.benchmarks.decoding.decode_figures import SECTIONS, main


def test_every_section_of_decoding_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "figures.json"
    found = main([str(output), "--quick", "--device", "cpu"])
    assert json.loads(output.read_text()) == found
    assert set(found) == {*SECTIONS, "seconds"}
    assert found["paged"]["4"]["tokens_s"] > 0
    assert found["paged"]["4"]["preemptions"] == 0
    assert found["steps"]["times"]["1"]["bound_ms"] > 0
    assert found["dynamic"]["4"]["step_ms"] > 0
    assert "## dynamic" in capsys.readouterr().out


def test_every_section_of_prefill_runs(tmp_path: Path) -> None:
    found = prefill_figures.main([str(tmp_path / "figures.json"), "--quick", "--device", "cpu"])
    for mode in prefill_figures.MODES:
        assert found["prefill"][f"2, {mode}"]["tflops_s"] > 0
        assert found["prefill"][f"2, {mode}"]["ms_beside_a_busy_thread"] > 0
        kinds = found["kernels"][f"2, {mode}"]["kinds"]
        assert kinds["ALL"]["ms"] > kinds["gemm"]["ms"] > 0
