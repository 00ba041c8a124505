"""Loads DeepSeek-OCR and models of its shape."""

from pathlib import Path

import torch

from encoders.bfloat16 import multiply_in_bfloat16
from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.families.family import NumberFormat


def load(
    directory: Path,
    *,
    name: str,
    device: str,
    dtype: NumberFormat,
    encoder_dtype: NumberFormat,
    prompt: str | None,
) -> LoadedModel:
    """Returns the model; see ocr.families.family.Family.load. The prompt is of no concern before decoding.

    On a CPU all of it is in float32, some parts multiplying in bfloat16 if asked for: elsewhere that gains nothing.
    """
    if device != "cpu":
        return checkpoint.load(
            name,
            device=torch.device(device),
            dtype=getattr(torch, dtype),
            encoder_dtype=getattr(torch, encoder_dtype),
        )
    loaded = checkpoint.load(name, device=torch.device("cpu"), dtype=torch.float32)
    if encoder_dtype == "bfloat16":
        loaded.model.encoder.multiply_in_bfloat16()
    if dtype == "bfloat16":  # all but the head, whose logits would tie
        multiply_in_bfloat16(loaded.model.language_model.layers)
    return loaded
