"""Damaged weights: the run names the file and ends before it reads, or each page says what is wrong."""

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from ocr.errors import CheckpointError
from pipeline.config.schema import Config
from pipeline.errors import ExitCode, exit_code
from storage.database import open_for_reading
from storage.queries.statistics import status
from tests.pipeline.checkpoints import TEXT
from tests.pipeline.conftest import Batch
from tests.pipeline.runs import rows, run_quietly

Weights = dict[str, torch.Tensor]


@pytest.fixture
def model(reader: Path, config: Config, tmp_path: Path) -> Path:
    """Returns a copy of the reader's checkpoint, to be damaged."""
    return shutil.copytree(reader, tmp_path / "model")


def _rewrite(model: Path, change: Callable[[Weights], object]) -> None:
    weights = load_file(model / "model.safetensors")
    change(weights)
    save_file(weights, model / "model.safetensors")


def _resize(model: Path, num_bytes: int) -> None:
    with (model / "model.safetensors").open("r+b") as file:
        file.truncate(num_bytes)


def _flip_header(model: Path) -> None:
    data = bytearray((model / "model.safetensors").read_bytes())
    data[20] ^= 0x40
    (model / "model.safetensors").write_bytes(data)


def _drop(weights: Weights) -> None:
    del weights["lm_head.weight"]


def _reshape(weights: Weights) -> None:
    weights["lm_head.weight"] = weights["lm_head.weight"][:, :-1].contiguous()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "truncated": lambda model: _resize(model, 100_000),
    "empty": lambda model: _resize(model, 0),
    "half a header": lambda model: _resize(model, 40),
    "bits flipped in the header": _flip_header,
    "a tensor is missing": lambda model: _rewrite(model, _drop),
    "a tensor is of another shape": lambda model: _rewrite(model, _reshape),
    "config.json is no JSON": lambda model: (model / "config.json").write_text("{"),
    "config.json is a list": lambda model: (model / "config.json").write_text("[]"),
    "tokenizer.json is damaged": lambda model: (model / "tokenizer.json").write_bytes(b"\xff{}"),
    "the weights are gone": lambda model: (model / "model.safetensors").unlink(),
    "the weights are a folder": lambda model: _replace_by_folder(model / "model.safetensors"),
}


def _replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_end_the_run_with_their_name(batch: Batch, model: Path, damage: str) -> None:
    batch.pdf("a.pdf", ["one"])
    DAMAGE[damage](model)
    with pytest.raises(CheckpointError, match=r"config\.json|tokenizer\.json|model\.safetensors") as caught:
        run_quietly(batch.config.model_copy(update={"model": str(model)}))
    assert exit_code(caught.value) == ExitCode.FATAL
    if Path(batch.database).exists():
        with closing(open_for_reading(batch.database)) as db:
            assert status(db).pages in ({}, {"pending": 1})
    assert not Path(f"{batch.database}.lock").exists()


def test_weights_that_are_no_numbers_fail_each_page_with_a_reason(batch: Batch, model: Path) -> None:
    batch.pdf("a.pdf", ["one", "two", ""])
    _rewrite(model, lambda weights: [tensor.fill_(torch.nan) for tensor in weights.values()])
    summary = run_quietly(batch.config.model_copy(update={"model": str(model)}))
    assert summary.pages == {"failed": 2, "blank": 1}
    assert summary.exit_code == ExitCode.INCOMPLETE
    first, second, _ = rows(batch.database)
    for row in (first, second):
        assert row["text"] is None
        assert row["error"] is not None
        assert "not numbers" in row["error"]["message"]


def test_weights_of_another_number_format_are_converted(batch: Batch, model: Path) -> None:
    batch.pdf("a.pdf", ["one"])
    _rewrite(model, lambda weights: weights.update({name: value.half() for name, value in weights.items()}))
    assert run_quietly(batch.config.model_copy(update={"model": str(model)})).pages == {"ok": 1}
    assert rows(batch.database)[0]["text"] == TEXT


def test_flipped_weights_are_another_model(batch: Batch, model: Path) -> None:
    """Nothing shows that they are wrong, but their readings never pass for those of the right ones."""
    batch.pdf("a.pdf", ["one"])
    assert batch.run().pages == {"ok": 1}
    data = bytearray((model / "model.safetensors").read_bytes())
    data[-1] ^= 0x01
    (model / "model.safetensors").write_bytes(data)
    summary = run_quietly(batch.config.model_copy(update={"model": str(model)}))
    assert (summary.num_pages, summary.num_done_before) == (1, 0)
