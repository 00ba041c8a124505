"""Loads MiniCPM-V from its published files: config.json and safetensors. Nothing in them is executed."""

from contextlib import ExitStack
from pathlib import Path

import torch
from torch import nn

from ocr.checkpoints.weight_files import check_shapes, open_weights, shapes_of
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
    tied = model.config.language.tie_word_embeddings
    with ExitStack() as stack:
        source = open_weights(files, stack)
        if tied:
            source.pop(_TIED, None)
        shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
        check_shapes(shapes, shapes_of(source), files, "the config.json published with these weights")
        for name in shapes:
            module, _, leaf = name.rpartition(".")
            tensor = (
                source[name].get_tensor(name).to(device, dtype if module.startswith("llm") else encoder_dtype)
            )
            setattr(model.get_submodule(module), leaf, nn.Parameter(tensor, requires_grad=False))
    if tied:
        model.llm.tie_weights()
    # Tables that no file holds; the language model's were made without values.
    rotary = model.llm.model.rotary_emb
    model.llm.model.rotary_emb = type(rotary)(model.config.language).to(device)
    model.resampler.to(device)
    return model.eval().requires_grad_(False)
