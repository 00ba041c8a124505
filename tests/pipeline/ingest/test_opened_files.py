"""No file that decides what is read can change without pages being read anew."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from ocr.model_files import fingerprint
from ocr.model_files.locate import LINE_FILES, LINES, SHIPPED, find_directory
from pipeline.config import sources
from pipeline.config.schema import Config, resolved, settings_hash
from tests.pipeline.ingest.opened import Opened
from tests.pipeline.runs import rows, run_quietly
from tests.storage.sample_records import rows as records

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel is asked which files are opened")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A copy of the shipped line reader, all that lies beside its weights included."""
    return shutil.copytree(find_directory(SHIPPED), tmp_path / "model")


@pytest.fixture
def shipped_config(model: Path, docs: Path, database: str) -> Config:
    page = Image.new("L", (640, 640), 255)
    for line, text in enumerate(["Seven apples and a pear", "were left on the table", "by the open window."]):
        ImageDraw.Draw(page).text((80, 120 + 50 * line), text, fill=0, font_size=32)
    page.save(docs / "a.png")
    values = {
        "ingest": {"paths": [str(docs)]},
        "store": {"database": database},
        "model": str(model),
        "device": "cpu",
    }
    return sources.load(None, ["render.workers=1", "threads=1"], [("test", values)])


@pytest.mark.slow
def test_every_file_that_a_run_opens_is_part_of_the_settings_hash(
    model: Path, shipped_config: Config, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turning = fingerprint.ORIENTATION_WEIGHTS
    with Opened(model, model / LINES, turning.parent) as opened:
        assert run_quietly(shipped_config).pages == {"ok": 1}
    read = {file.relative_to(model).as_posix() for file in opened.files if file.is_relative_to(model)}
    assert read >= {*LINE_FILES}, "the run reads these, and the watch must see it"
    assert turning in opened.files

    copy = model.with_name("turning.safetensors")
    shutil.copyfile(turning, copy)
    monkeypatch.setattr(fingerprint, "ORIENTATION_WEIGHTS", copy)
    assert records(database, "SELECT settings_hash FROM attempts") == [(hash_of(shipped_config),)]
    for file in opened.files:
        before = hash_of(shipped_config)
        with (copy if file == turning else file).open("ab") as changed:
            changed.write(b"\n")
        assert hash_of(shipped_config) != before, f"{file.name} is opened, and not part of the settings' hash"


@pytest.mark.slow
def test_a_model_that_was_calibrated_anew_reads_its_pages_again(
    model: Path, shipped_config: Config, database: str
) -> None:
    config = shipped_config
    assert run_quietly(config).num_pages == 1
    assert run_quietly(config).num_pages == 0
    curves = model / "lines" / "confidence.json"
    calibration = json.loads(curves.read_text())
    calibration["page"]["bias"] -= 1.0
    curves.write_text(json.dumps(calibration))
    before = rows(database)[0]["confidence"]
    assert run_quietly(config).num_pages == 1
    assert rows(database)[0]["confidence"] < before


def hash_of(config: Config) -> str:
    return settings_hash(resolved(config), fingerprint.weights_sha256(config.model))
