"""Loads transformers' classes with our weights as a reference for benchmarks."""

import tempfile
from pathlib import Path
from typing import Any

import torch
from transformers import UnlimitedOcrConfig, UnlimitedOcrForConditionalGeneration
from transformers.utils import logging

from encoders.deepseek.from_transformers import vision_config
from ocr.checkpoints import checkpoint
from ocr.model.deepseek_ocr import OcrConfig, OcrModel


def reference_config(config: OcrConfig) -> UnlimitedOcrConfig:
    """Returns transformers' configuration of the same model, with full attention in every layer."""
    return UnlimitedOcrConfig(
        vision_config=vision_config(config.encoder),
        text_config=config.language.to_transformers().to_dict(),
        image_token_id=2,
        tie_word_embeddings=config.language.tie_word_embeddings,  # read from here; the text's own has no effect
    )


def reference_model(directory: Path, config: OcrConfig, dtype: torch.dtype = torch.float32) -> Any:
    """Returns transformers' model with the weights of a checkpoint directory, which transformers reads itself.

    The weights must not be quantised (ocr.checkpoints.checkpoint.save without int8).
    """
    level, shows_progress = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()  # else it warns of tied embeddings
    logging.disable_progress_bar()
    try:
        model = UnlimitedOcrForConditionalGeneration.from_pretrained(
            directory, config=reference_config(config), dtype=dtype
        )
    finally:
        logging.set_verbosity(level)
        if shows_progress:
            logging.enable_progress_bar()
    return model.eval().requires_grad_(False)


def load_reference(model: OcrModel) -> Any:
    """Returns transformers' model with the same weights, which pass through a checkpoint on disk."""
    like = model.encoder.image_newline
    with tempfile.TemporaryDirectory(prefix="ocrbatch-bench-") as folder:
        checkpoint.save(model, Path(folder))
        return reference_model(Path(folder), model.config, dtype=like.dtype).to(like.device)
