"""The memory benchmark runs, and its figures are of the run."""

import json
from pathlib import Path

import pytest

from pipeline.bench.host_meter import HostUse
from tests.benchmarks.runs.memory import Sample, Sampler, main, report
from tests.pipeline.checkpoints import READS_TEXT
from tests.pipeline.conftest import MakePdf, make_pdf, reader

__all__ = ["make_pdf", "reader"]
SETS = [argument for text in READS_TEXT for argument in ("--set", text)]


def test_a_run_is_sampled(
    reader: Path,
    tmp_path: Path,
    make_pdf: MakePdf,
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = make_pdf(tmp_path / "a.pdf", ["one", "two", "three"])
    output = tmp_path / "memory.json"
    code = main(
        [str(document), "--pages", "8", "--first", "3", "--every", "4", "--model", str(reader), "--device", "cpu",
         "--batch-size", "2", "--most", "5", "--output-json", str(output), *SETS],
    )  # fmt: skip
    found = json.loads(output.read_text())
    assert code == 0
    assert [sample["num_pages"] for sample in found["samples"]] == [3, 4, 8]
    assert all(sample["host"]["main_bytes"] > 10_000_000 for sample in found["samples"])
    assert found["samples"][0]["host"]["worker_bytes"] > 0
    said = capsys.readouterr().out
    assert f"{found['ratios']['all']:.3f}x" in said
    assert "at page 3" in said


def test_the_last_sample_is_compared_with_the_first_that_counts(capsys: pytest.CaptureFixture[str]) -> None:
    sampler = Sampler(first=100, every=50)
    sampler.samples = [
        Sample(num_pages=pages, seconds=1.0, host=HostUse(main_bytes=main_bytes, worker_bytes=100))
        for pages, main_bytes in ((50, 100), (100, 200), (150, 900), (200, 350))
    ]
    assert report(sampler) == {"all": 1.5, "main": 1.75, "workers": 1.0}
    assert "main: 0 MiB at page 100, 0 MiB at page 200, 1.750x" in capsys.readouterr().out
