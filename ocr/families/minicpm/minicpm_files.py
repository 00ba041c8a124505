"""Loads MiniCPM-V from its published files: config.json and safetensors. Nothing in them is executed."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from ocr.errors import CheckpointError
from ocr.families.minicpm.minicpm_model import MiniCpmModel
from ocr.model_files.locate import read_json, weight_files

_TIED = "llm.lm_head.weight"


def load_minicpm(
    directory: Path, *, device: torch.device, dtype: torch.dtype, encoder_dtype: torch.dtype
) -> MiniCpmModel:
    """Returns the model in a directory, in evaluation mode and without gradients.

    encoder_dtype: of vision transformer and resampler. Raises: CheckpointError, naming files or tensors and the remedy.
    """
    config = read_json(directory / "config.json")
    files = weight_files(directory)
    with torch.device("meta"):
        model = MiniCpmModel.from_config(config)
    dtypes = {
        name: dtype if name.startswith("llm.") else encoder_dtype for name, _ in model.named_parameters()
    }
    _fill(model, files, device, dtypes)
    if model.config.language.tie_word_embeddings:
        model.llm.tie_weights()
    _renew_buffers(model, device)
    return model.eval().requires_grad_(False)


def _fill(
    model: MiniCpmModel, files: Sequence[Path], device: torch.device, dtypes: Mapping[str, torch.dtype]
) -> None:
    with ExitStack() as stack:
        source: dict[str, Any] = {}
        for file in files:
            handle = _open(file, stack)
            source.update(dict.fromkeys(handle.keys(), handle))
        if model.config.language.tie_word_embeddings:
            source.pop(_TIED, None)
        shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
        _check(shapes, source, files)
        for name in shapes:
            module, _, leaf = name.rpartition(".")
            tensor = source[name].get_tensor(name).to(device, dtypes[name])
            setattr(model.get_submodule(module), leaf, nn.Parameter(tensor, requires_grad=False))


def _renew_buffers(model: MiniCpmModel, device: torch.device) -> None:
    """Puts the tables that no file holds on the device; the language model's were made without values."""
    rotary = model.llm.model.rotary_emb
    model.llm.model.rotary_emb = type(rotary)(model.config.language).to(device)
    model.resampler.to(device)


def _open(file: Path, stack: ExitStack) -> Any:
    try:
        return stack.enter_context(safe_open(file, framework="pt"))
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"{file} cannot be read as safetensors ({error}); fetch the file again"
        ) from error


def _check(shapes: Mapping[str, tuple[int, ...]], source: Mapping[str, Any], files: Sequence[Path]) -> None:
    """Raises a CheckpointError that names every kind of mismatch at once."""
    found = {name: tuple(handle.get_slice(name).get_shape()) for name, handle in source.items()}
    misshapen = [
        f"{name} {list(found[name])} instead of {list(shape)}"
        for name, shape in shapes.items()
        if found.get(name, shape) != shape
    ]
    faults = [
        _listed("missing tensors", [name for name in shapes if name not in found]),
        _listed("unknown tensors", [name for name in found if name not in shapes]),
        _listed("tensors of another shape", misshapen),
    ]
    if any(faults):
        raise CheckpointError(
            f"{', '.join(map(str, files))} does not fit its config.json: {'; '.join(filter(None, faults))}. Use the "
            "config.json published with these weights"
        )


def _listed(kind: str, items: Sequence[str], most: int = 8) -> str:
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return f"{kind}: {', '.join(items[:most])}{more}" if items else ""
