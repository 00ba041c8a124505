"""`ocrbatch bench pipeline`: a real run of a tiny model, and the figures that follow from it."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from PIL import Image

from pipeline.bench.roofline.rates import Rates
from pipeline.bench.whole_run import run_bench, run_result, subject
from pipeline.bench.whole_run.subject import Subject
from pipeline.cli.main import cli
from pipeline.config.schema import Config, completed
from pipeline.errors import ConfigError
from tests.ocr.saving import config_json
from tests.ocr.tiny import TINY
from tests.pipeline.checkpoints import READS_TEXT
from tests.pipeline.conftest import MakePdf

SETS = [argument for text in READS_TEXT for argument in ("--set", text)]


def bench(*arguments: str) -> Any:
    result = CliRunner().invoke(cli, ["bench", "pipeline", "--device", "cpu", *arguments])
    if result.exception is not None:
        raise result.exception
    return result


@pytest.fixture
def shape(tmp_path: Path) -> Path:
    """A directory with a configuration and no weights."""
    directory = tmp_path / "shape"
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(config_json(TINY)))
    return directory


@pytest.mark.slow
def test_a_run_is_read_timed_and_counted(reader: Path, tmp_path: Path, make_pdf: MakePdf) -> None:
    pages = make_pdf(tmp_path / "a.pdf", ["one", "", "three"])
    output = tmp_path / "bench.json"
    said = bench(
        str(pages), "--model", str(reader), "--num-pages", "10", "--batch-size", "2",
        "--output-json", str(output), *SETS,
    ).output  # fmt: skip
    found = json.loads(output.read_text())
    assert found["statuses"] == {"ok": 7, "blank": 3}
    assert found["num_tokens"] == found["flow"]["num_tokens"] == 7 * 4
    whole, loaded, steady = found["speeds"]
    assert [part["name"] for part in found["speeds"]] == ["whole run", "since the model was loaded", "steady"]
    assert (whole["num_pages"], steady["num_pages"]) == (10, 8)
    assert whole["pages_s"] == pytest.approx(10 / whole["seconds"])
    assert whole["tokens_s"] == pytest.approx(28 / whole["seconds"])
    assert loaded["seconds"] < whole["seconds"] <= found["wall_s"]
    assert len(found["stored_s"]) == 10
    start = found["start_up"]
    assert 0 < start["entered_s"] < start["imported_s"] <= start["loaded_s"] < start["first_page_s"]
    assert found["work"]["readings"] == pytest.approx(0.7)
    assert found["memory"]["host_peak"] >= found["memory"]["main_peak"] > 0
    assert (found["bound"], found["memory"]["gpu_used"], whole["gpu_busy"]) == (None, None, None)
    assert {stage["name"] for stage in found["flow"]["stages"]} >= {"render", "encode", "decode", "store"}
    assert "10 pages (3 blank, 7 ok), 3 tokens a page" in said
    assert "steady: from when the first 2 pages were stored to the end" in said
    assert "first page stored" in said


@pytest.mark.slow
def test_a_run_has_the_workers_that_are_asked_for(reader: Path, tmp_path: Path, make_pdf: MakePdf) -> None:
    pages, output = make_pdf(tmp_path / "a.pdf", ["one", "two"]), tmp_path / "bench.json"
    options = ("--num-pages", "8", "--output-json", str(output), "--set", "cluster.workers=2")
    bench(str(pages), "--model", str(reader), *options, *SETS)
    found = json.loads(output.read_text())
    assert found["statuses"] == {"ok": 8}
    assert len(found["flow"]["workers"]) == 2


def test_workers_are_refused_where_the_model_has_to_be_here(
    shape: Path, make_pdf: MakePdf, tmp_path: Path
) -> None:
    pages = make_pdf(tmp_path / "a.pdf", ["one"])
    with pytest.raises(ConfigError, match="runs in one process"):
        bench(str(pages), "--model", str(shape), "--set", "cluster.workers=2")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["tiny", "gundam"])
def test_random_weights_write_as_many_tokens_as_are_asked_for(
    mode: str, shape: Path, tmp_path: Path, make_pdf: MakePdf
) -> None:
    """On every page, whatever it shows: with tiles the pages' prompts differ in length."""
    pages = make_pdf(tmp_path / "a.pdf", ["one", "two"])
    noise = np.random.default_rng(0).integers(0, 256, (120, 90, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "small.png")
    output = tmp_path / "bench.json"
    said = bench(
        str(pages), str(tmp_path / "small.png"), "--model", str(shape), "--mode", mode, "--output-tokens", "40",
        "--output-json", str(output), "--set", "render.workers=1",
    ).output  # fmt: skip
    found = json.loads(output.read_text())
    assert found["num_tokens"] == 3 * 40
    assert found["work"]["words"] == 2
    assert "no steady part" in said


def test_a_run_does_to_every_token_what_it_does_outside_the_bench(shape: Path, tmp_path: Path) -> None:
    stand_in = Subject(str(shape), tmp_path / "stand-in")
    config = subject.bench_config(stand_in, ["a.pdf"], tmp_path / "results.db", output_tokens=100)
    assert config.decode.loop.tokens == 0
    assert config.decode.max_tokens == Config().decode.max_tokens
    assert completed(config).decode.pdf.size == 20


def test_what_is_measured_is_reading_unless_somebody_wants_layers_in_it(reader: Path, tmp_path: Path) -> None:
    made = [
        subject.bench_config(
            Subject(str(reader), tmp_path / "unused"), ["a"], tmp_path / "a.db", output_tokens=None, sets=sets
        )
        for sets in ((), ("text_layer=auto",))
    ]
    assert [config.text_layer for config in made] == ["ignore", "auto"]


def test_the_random_model_is_the_published_one_at_full_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr("pipeline.bench.random_model.random_loaded", lambda *wanted: asked.append(wanted))
    Subject("random", tmp_path / "random").load(Config(device="cpu"))
    ((config, device, dtype),) = asked
    assert config.language.num_hidden_layers == 12
    assert (device.type, dtype) == ("cpu", torch.float32)


@pytest.mark.slow
def test_nothing_to_read_is_said(reader: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no page")
    with pytest.raises(ConfigError, match="no page was read"):
        bench(str(tmp_path), "--model", str(reader), *SETS)


@pytest.mark.slow
def test_the_gpu_and_its_bound_are_printed(
    reader: Path, tmp_path: Path, make_pdf: MakePdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = Rates(matrix_flops_s=1e12, copy_bytes_s=1e9)
    monkeypatch.setattr(run_result, "measure_rates", lambda device, dtype: rates)
    shutil.copy(make_pdf(tmp_path / "a.pdf", ["one"]), tmp_path / "b.pdf")
    paths = [str(tmp_path / "a.pdf")]
    values = run_bench.run(paths=paths, model=str(reader), device="cpu", sets=READS_TEXT).values
    assert values["bound_share"] == pytest.approx(
        values["speeds"][-1]["pages_s"] / values["bound"]["pages_s"]
    )
    assert values["bound"]["page_s"] == pytest.approx(1 / values["bound"]["pages_s"])
    said = "\n".join(run_result.lines(_on_a_gpu(values)))
    assert "some GPU; torch" in said
    assert "87.5%" in said
    assert "GPU memory at most 1.00 GiB, reserved 2.00 GiB, in use on the GPU 3.00 GiB" in said
    assert "bound: " in said
    assert "stopped before the end: time limit" in said
    assert "GPU busy: the share of the time in which any kernel ran" in said


def _on_a_gpu(values: dict[str, Any]) -> dict[str, Any]:
    gib = 2**30
    memory = {
        "host_peak": 4 * gib, "main_peak": 3 * gib, "gpu_allocated": gib, "gpu_reserved": 2 * gib, "gpu_used": 3 * gib,
    }  # fmt: skip
    speeds = values["speeds"]
    return values | {
        "machine": values["machine"] | {"gpu": "some GPU"},
        "speeds": [*speeds, speeds[0] | {"name": "steady", "gpu_busy": 0.875}],
        "memory": memory,
        "stopped": "time limit",
    }
