"""The program of the device's figures on tiny models: every section runs, and its figures add up."""

import json
from pathlib import Path

import pytest
import torch

from tests.benchmarks.device.device_figures import SECTIONS, main


def test_every_section_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "figures" / "figures.json"
    found = main([str(output), "--quick", "--device", "cpu", "--sections", "machine,views,steps,prefill"])
    assert json.loads(output.read_text()) == found
    assert [name for name, result in found.items() if "error" in result] == []
    assert set(found["views"]["times"]) == {"2 x 512 px, eager", "2 x 512 px, replayed"}
    assert found["views"]["kernels"]["1 x 512 px"]["kinds"]["convolution"]["ms"] > 0
    for name, section in (("1", "steps"), ("2", "prefill")):
        kinds = found[section]["kernels"][name]["kinds"]
        assert kinds["ALL"]["ms"] > kinds["gemm"]["ms"] > 0
    assert found["steps"]["times"]["4"]["share_of_bound"] > 0
    assert "## prefill" in capsys.readouterr().out


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_every_section_runs_on_a_gpu(tmp_path: Path) -> None:
    found = main([str(tmp_path / "figures.json"), "--quick"])
    assert [name for name, result in found.items() if "error" in result] == []
    assert set(found) == {"seconds", *SECTIONS}
