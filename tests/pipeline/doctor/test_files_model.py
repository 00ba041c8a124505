import hashlib
import shutil
from pathlib import Path

import pytest
from huggingface_hub import constants

from ocr.model_files.locate import find_directory
from pipeline.config.schema import Config
from pipeline.doctor import file_checks as files
from pipeline.doctor.examination import Finding
from tests.ocr.families.unlimited_ocr import tiny_unlimited

SHIPPED_LINES = find_directory("small") / "lines"


def found(name: Path | str) -> dict[str, Finding]:
    return {finding.what: finding for finding in files.check_model(Config(model=str(name)))}


@pytest.fixture
def copy(reader: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(reader, tmp_path / "model"))


def test_the_shipped_model() -> None:
    findings = found("small")
    assert {finding.state for finding in findings.values()} <= {"ok", "note"}
    assert findings["tokenizer"].state == findings["offline"].state == "ok"


def test_what_the_table_of_models_takes_a_model_for(tmp_path: Path) -> None:
    tiny_unlimited.save(tmp_path / "some")
    findings = found(tmp_path / "some")
    assert findings["family"].found == "Unlimited-OCR"
    assert findings["model entry"].found == "Unlimited-OCR, by its type, unlimited-ocr"
    assert "model entry" not in found("small")
    assert "by the line reader" in findings["words"].found
    assert "words" not in found("small"), "which gives them itself"
    config = Config(model=str(tmp_path / "some"), model_entry="olmOCR 2")
    (refused,) = [finding for finding in files.check_model(config) if finding.state == "FAIL"]
    assert "olmOCR 2 is of type qwen2_5_vl" in refused.found
    assert refused.remedy == "choose 'Unlimited-OCR'"


def test_a_file_that_is_cut_short_or_missing(copy: Path) -> None:
    weights = copy / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1])
    assert found(copy)["weights"].state == "FAIL"
    weights.write_bytes(b"")
    assert found(copy)["weights"].state == "FAIL"
    weights.unlink()
    assert "lacks model.safetensors" in found(copy)["model"].found
    weights.write_bytes(whole)
    (copy / "tokenizer.json").write_text("{}")
    assert found(copy)["model"].state == "FAIL"


def test_a_hash_is_compared_where_one_is_recorded(copy: Path) -> None:
    weights = copy / "model.safetensors"
    assert found(copy)["model hash"].state == "note"
    blob = copy / hashlib.sha256(weights.read_bytes()).hexdigest()
    weights.rename(blob)
    weights.symlink_to(blob)
    assert found(copy)["model hash"].state == "ok"
    content = bytearray(blob.read_bytes())
    content[-1] ^= 1
    blob.write_bytes(content)
    finding = found(copy)["model hash"]
    assert finding.state == "FAIL"
    assert "model.safetensors" in finding.found


def test_sums_beside_the_files(copy: Path) -> None:
    names = ("model.safetensors", "config.json", "tokenizer.json")
    sums = {name: hashlib.sha256((copy / name).read_bytes()).hexdigest() for name in names}
    (copy / files.SUMS).write_text("".join(f"{value}  {name}\n" for name, value in sums.items()))
    assert found(copy)["model hash"].line() == "ok   model hash: 3 of 3 files are as published"
    (copy / files.SUMS).write_text(f"{sums['config.json']} *model.safetensors\n")
    assert found(copy)["model hash"].state == "FAIL"


def test_a_line_reader_is_checked_with_its_model(copy: Path) -> None:
    shutil.copytree(SHIPPED_LINES, copy / "lines")
    names = ("lines/finder.safetensors", "lines/reader.safetensors", "lines/reader.json")
    sums = {name: hashlib.sha256((copy / name).read_bytes()).hexdigest() for name in names}
    (copy / files.SUMS).write_text("".join(f"{value}  {name}\n" for name, value in sums.items()))
    assert found(copy)["model hash"].line() == "ok   model hash: 3 of 7 files are as published"
    (copy / "lines" / "reader.json").write_text("{}")
    assert "reader.json" in found(copy)["model hash"].found
    (copy / "lines" / "reader.safetensors").write_bytes(b"")
    assert found(copy)["weights"].state == "FAIL"


def test_one_of_the_hub_that_is_not_here_is_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    assert found("nobody/nothing")["model"].state == "note"
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    finding = found("nobody/nothing")["model"]
    assert finding.state == "FAIL"
    assert "HF_HUB_OFFLINE" in finding.found


def test_one_of_the_hub_that_is_here(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "snapshot_download", lambda name, local_files_only: str(copy))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert found("some/model")["offline"].state == "ok"
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    assert found("some/model")["offline"].state == "note"
