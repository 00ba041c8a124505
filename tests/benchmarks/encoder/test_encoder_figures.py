"""The program of the encoder's figures on a tiny model: every section runs, and its figures add up."""

import json
from pathlib import Path

import pytest
import torch

from tests.benchmarks.encoder.encoder_figures import SECTIONS, main


def test_every_section_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "figures" / "figures.json"
    torch.set_num_threads(1)
    main([str(output), "--quick", "--device", "cpu", "--dtype", "float32"])
    found = json.loads(output.read_text())
    assert set(found) == {"seconds", *SECTIONS}
    assert [name for name, result in found.items() if "error" in result] == []
    assert max(found["numerics"]["largest"]["graph"].values()) < 1e-5
    poisoned = found["numerics"]["poisoned"]
    assert (poisoned["same_bits"], poisoned["largest_difference"]) == (True, 0.0)
    assert poisoned["hits"][0] == poisoned["hits"][1], "a batch is replayed in both passes or in neither"
    assert [row["views"] for row in found["counts"]["counts"]["local"]] == [1, 2, 3]
    assert [size["views"] for size in found["counts"]["sizes"]["global"]] == [1, 2]
    assert set(found["batches"]["ms"]["1 x 512"]) == {"reference", "eager", "graph"}
    assert found["profile"]["1 x 512"]["kinds"]["convolution"]["ms"] > 0
    assert "| 1 x 512 |" in capsys.readouterr().out.replace("ms, ", "")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_every_section_runs_on_a_gpu(tmp_path: Path) -> None:
    found = main([str(tmp_path / "figures.json"), "--quick"])
    assert [name for name, result in found.items() if "error" in result] == []
    assert set(found["batches"]["ms"]["1 x 512"]) == {"reference", "eager", "graph"}
    assert max(found["numerics"]["largest"]["graph"].values()) < 0.05
