"""`ocrbatch bench pipeline` with models of other families than DeepSeek-OCR's: the same run, with notes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from pipeline.bench.whole_run.subject import Subject
from pipeline.cli.main import cli
from pipeline.errors import ConfigError
from tests.ocr.families.published import tiny_published
from tests.pipeline.run.test_run_families import MODELS

FAMILIES = {
    **{name: MODELS[name][0] for name in ("MiniCPM-V 4.5", "Qwen2.5-VL", "PaddleOCR-VL", "Unlimited-OCR")},
    "DeepSeek-OCR-2": lambda folder: tiny_published.save("deepseek_ocr2", folder),
}


def bench(*words: str) -> tuple[str, Any]:
    quick = ["--device", "cpu", "--set", "render.workers=1", "--set", "threads=1", "--set", "words=off"]
    result = CliRunner().invoke(cli, ["bench", "pipeline", *quick, *words])
    if result.exception is not None:
        raise result.exception
    return result.output, json.loads(
        Path(words[words.index("--output-json") + 1]).read_text(encoding="utf-8")
    )


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "DeepSeek-OCR-2")) for name in FAMILIES]
)
def test_every_family_is_timed_stage_by_stage(name: str, tmp_path: Path) -> None:
    model = FAMILIES[name](tmp_path / "model")
    pixels = np.random.default_rng(0).integers(0, 256, (120, 90, 3), np.uint8)
    page = tmp_path / "page.png"
    Image.fromarray(pixels).save(page)

    said, found = bench(
        str(page), "--model", str(model), "--num-pages", "2", "--output-tokens", "4", "--output-json",
        str(tmp_path / "bench.json"), "--set", "decode.prompt=<image>Read",
    )  # fmt: skip

    assert (sum(found["statuses"].values()), found["num_read"]) == (2, 2)
    assert 0 < found["num_tokens"] <= 2 * 4
    assert [part["name"] for part in found["speeds"]] == ["whole run", "since the model was loaded"]
    assert {"render", "encode", "decode", "store"} <= {stage["name"] for stage in found["flow"]["stages"]}
    start = found["start_up"]
    assert 0 < start["entered_s"] < start["imported_s"] <= start["loaded_s"] < start["first_page_s"]
    assert (found["bound"], found["work"]) == (None, None)
    assert [note.partition(":")[0].partition(",")[0] for note in found["notes"]] == [
        "no bound", "at most 4 tokens a page",
    ]  # fmt: skip
    assert "float32" in said
    assert all(note in said for note in found["notes"])


def test_random_weights_are_for_one_shape_alone(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "qwen3_vl"}', encoding="utf-8")
    with pytest.raises(ConfigError, match="random ones are drawn for models of DeepSeek-OCR's shape"):
        Subject(str(tmp_path), tmp_path / "stand-in")
    with pytest.raises(ConfigError, match="whole runs take 'random'"):
        Subject("random:qwen3-vl-8b", tmp_path / "stand-in")
