"""Loads DeepSeek-OCR and models of its shape."""

import torch

from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.families.family import Loading


def load(asked: Loading) -> LoadedModel:
    """Returns the model; the prompt is of no concern before decoding. Raises: CheckpointError."""
    return checkpoint.load(
        asked.name,
        device=torch.device(asked.device),
        dtype=getattr(torch, asked.dtype),
        encoder_dtype=getattr(torch, asked.encoder_dtype),
    )
