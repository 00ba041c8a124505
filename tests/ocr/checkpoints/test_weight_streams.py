"""Weights past the process's memory: every byte in its place, whatever the buffers' size."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from ocr.checkpoints import checkpoint, model_weights
from ocr.checkpoints.weight_streams import all_stored, send, stored_tensors
from tests.ocr.saving import save
from tests.ocr.tiny import tiny_model, tiny_tokenizer

CPU = torch.device("cpu")


@pytest.fixture
def tensors() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {
        "small": torch.randn(3, generator=generator),
        "matrix": torch.randn(50, 33, generator=generator).bfloat16(),
        "half": torch.randn(4, 5, 6, generator=generator).half(),
        "eight_bits": torch.ones(7, dtype=torch.int8),
        "nothing": torch.empty(0, 4),
    }


@pytest.mark.parametrize("buffer_bytes", [64, 1000, 1 << 20])
def test_all_tensors_of_all_files_arrive(
    tmp_path: Path, tensors: dict[str, torch.Tensor], buffer_bytes: int
) -> None:
    names = list(tensors)
    files = [tmp_path / "a.safetensors", tmp_path / "b.safetensors"]
    for file, part in zip(files, (names[:2], names[2:]), strict=True):
        save_file({name: tensors[name] for name in part}, file, metadata={"format": "pt"})
    stored = all_stored(files)
    assert stored.keys() == tensors.keys() - {"eight_bits"}
    targets = {name: torch.full_like(tensors[name], torch.nan) for name in stored}
    send([(stored[name], targets[name]) for name in stored], CPU, buffer_bytes)
    for name, target in targets.items():
        assert torch.equal(target, tensors[name]), name


def test_targets_of_another_dtype_and_within_a_larger_tensor(
    tmp_path: Path, tensors: dict[str, torch.Tensor]
) -> None:
    save_file(tensors, tmp_path / "a.safetensors")
    stored = stored_tensors(tmp_path / "a.safetensors")
    stacked = torch.zeros(2, 100, 33)
    send([(stored["matrix"], stacked[1, 50:])], CPU, 128)
    assert torch.equal(stacked[1, 50:], tensors["matrix"].float())
    assert not stacked[0].any()
    assert not stacked[1, :50].any()


def test_a_file_that_ends_too_early_is_an_error(tmp_path: Path, tensors: dict[str, torch.Tensor]) -> None:
    file = tmp_path / "a.safetensors"
    save_file(tensors, file)
    stored = stored_tensors(file)
    file.write_bytes(file.read_bytes()[:-1000])
    targets = [(its, torch.empty_like(tensors[name])) for name, its in stored.items()]
    with pytest.raises(EOFError, match=r"a\.safetensors ends before its tensors do"):
        send(targets, CPU)


def test_a_streamed_checkpoint_is_the_mapped_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes on the CPU what a GPU is given."""
    save(tiny_model(), tmp_path, tokenizer=tiny_tokenizer())
    mapped = checkpoint.load(str(tmp_path), device="cpu", dtype=torch.bfloat16, encoder_dtype=torch.float32)
    monkeypatch.setattr(model_weights, "_convert", model_weights._stream)
    streamed = checkpoint.load(str(tmp_path), device="cpu", dtype=torch.bfloat16, encoder_dtype=torch.float32)
    for name, parameter in streamed.model.named_parameters():
        assert parameter.dtype == mapped.model.get_parameter(name).dtype, name
        assert torch.equal(parameter, mapped.model.get_parameter(name)), name


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_on_a_gpu_the_weights_are_those_of_a_cpu(tmp_path: Path, dtype: torch.dtype) -> None:
    save(tiny_model(), tmp_path, tokenizer=tiny_tokenizer())
    there = checkpoint.load(str(tmp_path), device="cuda", dtype=dtype).model
    here = checkpoint.load(str(tmp_path), device="cpu", dtype=dtype).model
    for name, parameter in there.named_parameters():
        assert torch.equal(parameter.cpu(), here.get_parameter(name)), name
