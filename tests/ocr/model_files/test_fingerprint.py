import shutil
from pathlib import Path

import pytest
import torch

from ocr.checkpoints.checkpoint import load
from ocr.errors import CheckpointError
from ocr.model_files.fingerprint import weights_sha256


def test_it_is_what_the_loaded_model_says(checkpoint: Path) -> None:
    loaded = load(str(checkpoint), device="cpu", dtype=torch.float32)
    assert weights_sha256(str(checkpoint)) == loaded.weights_sha256


def test_the_place_does_not_matter_but_the_content_does(checkpoint: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(checkpoint, tmp_path / "copy")
    before = weights_sha256(str(checkpoint))
    assert weights_sha256(str(copy)) == before
    for name in ("config.json", "tokenizer.json", "model.safetensors", "characters.json", "confidence.json"):
        with (copy / name).open("ab") as file:
            file.write(b" ")
        assert weights_sha256(str(copy)) != before
        before = weights_sha256(str(copy))


def test_which_of_the_files_that_need_not_be_there_are_is_part_of_it(
    checkpoint: Path, tmp_path: Path
) -> None:
    found = set()
    for name in ("nothing", "characters.json", "confidence.json", "lines/reader.json"):
        copy = shutil.copytree(checkpoint, tmp_path / name)
        if name != "nothing":
            (copy / name).parent.mkdir(exist_ok=True)
            (copy / name).write_text("{}")
        found.add(weights_sha256(str(copy)))
    assert len(found) == 4


def test_a_missing_file_is_named(checkpoint: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(checkpoint, tmp_path / "copy")
    (copy / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError, match=r"tokenizer\.json"):
        weights_sha256(str(copy))
