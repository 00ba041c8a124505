import shutil
from pathlib import Path

import pytest

from ocr.errors import CheckpointError
from ocr.model_files.fingerprint import weights_sha256


def test_the_place_does_not_matter_but_the_content_does(checkpoint: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(checkpoint, tmp_path / "copy")
    before = weights_sha256(str(checkpoint))
    assert weights_sha256(str(copy)) == before
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        with (copy / name).open("ab") as file:
            file.write(b" ")
        assert weights_sha256(str(copy)) != before
        before = weights_sha256(str(copy))


def test_of_a_line_reader_each_of_its_files_is_part_of_it(checkpoint: Path, tmp_path: Path) -> None:
    found = {weights_sha256(str(checkpoint))}
    (tmp_path / "lines").mkdir()
    for name in ("confidence.json", "reader.json", "finder.safetensors"):
        found.add(weights_sha256(str(tmp_path)))
        (tmp_path / "lines" / name).write_text("{}")
    assert len(found | {weights_sha256(str(tmp_path))}) == 5


def test_a_missing_file_is_named(checkpoint: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(checkpoint, tmp_path / "copy")
    (copy / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError, match=r"tokenizer\.json"):
        weights_sha256(str(copy))
