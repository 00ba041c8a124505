"""Loads our checkpoints into transformers' own DeepSeek-OCR classes, to compare results and speed with them.

Source: transformers' `unlimited_ocr`, which is this model (its defaults differ: see reference_config).
"""

from pathlib import Path
from typing import Any

import torch
from transformers import UnlimitedOcrConfig, UnlimitedOcrForConditionalGeneration
from transformers.utils import logging

from encoders.deepseek.from_transformers import vision_config
from ocr.model.deepseek_ocr import OcrConfig


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
