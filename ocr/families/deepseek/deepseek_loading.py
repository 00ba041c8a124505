"""Loads DeepSeek-OCR and models of its shape."""

import torch

from encoders.bfloat16 import multiply_in_bfloat16
from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.families.family import Loading


def load(asked: Loading) -> LoadedModel:
    """Returns the model; the prompt is of no concern before decoding. Raises: CheckpointError.

    On a CPU all of it is in float32, some parts multiplying in bfloat16 if asked for: elsewhere that gains nothing.
    """
    name, dtype, encoder_dtype = asked.name, asked.dtype, asked.encoder_dtype
    if asked.device != "cpu":
        return checkpoint.load(
            name,
            device=torch.device(asked.device),
            dtype=getattr(torch, dtype),
            encoder_dtype=getattr(torch, encoder_dtype),
        )
    loaded = checkpoint.load(name, device=torch.device("cpu"), dtype=torch.float32)
    if encoder_dtype == "bfloat16":
        loaded.model.encoder.multiply_in_bfloat16()
    if dtype == "bfloat16":  # all but the head, whose logits would tie
        multiply_in_bfloat16(loaded.model.language_model.layers)
    return loaded
