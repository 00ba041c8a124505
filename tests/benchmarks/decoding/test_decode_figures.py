import json
from pathlib import Path

import pytest

from tests.benchmarks.decoding.decode_figures import SECTIONS, main


def test_the_program_runs_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "figures.json"
    assert main([str(output), "--quick"]) == 0, capsys.readouterr().err
    found = json.loads(output.read_text())
    assert set(found) == {*SECTIONS, "build_s"}
    assert found["paged"]["4"]["tokens_s"] > 0
    assert found["paged"]["4"]["preemptions"] == 0
    assert found["steps"]["1"]["bound_ms"] > 0
    assert found["dynamic"]["4"]["step_ms"] > 0
    assert "== dynamic" in capsys.readouterr().out
