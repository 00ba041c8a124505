"""Loads transformers' classes with our weights as a reference for benchmarks."""

import tempfile
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from transformers import UnlimitedOcrConfig, UnlimitedOcrForConditionalGeneration
from transformers.utils import logging

from encoders.deepseek.from_transformers import vision_config
from ocr.checkpoints.checkpoint import published
from ocr.model.deepseek_ocr import OcrConfig, OcrModel
from ocr.model_files.locate import WEIGHTS


def reference_config(config: OcrConfig) -> UnlimitedOcrConfig:
    """Returns transformers' configuration of the same model, with full attention in every layer."""
    return UnlimitedOcrConfig(
        vision_config=vision_config(config.encoder),
        text_config=config.language.to_transformers().to_dict(),
        image_token_id=2,
        tie_word_embeddings=False,
    )


def reference_model(directory: Path, config: OcrConfig, dtype: torch.dtype = torch.float32) -> Any:
    """Returns transformers' model with the weights of a checkpoint directory, which transformers reads itself."""
    shows_progress = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        model = UnlimitedOcrForConditionalGeneration.from_pretrained(
            directory, config=reference_config(config), dtype=dtype
        )
    finally:
        if shows_progress:
            logging.enable_progress_bar()
    return model.eval().requires_grad_(False)


def load_reference(model: OcrModel) -> Any:
    """Returns transformers' model with the same weights, which pass through a checkpoint on disk."""
    like = model.encoder.image_newline
    with tempfile.TemporaryDirectory(prefix="ocrbatch-bench-") as folder:
        reference_config(model.config).save_pretrained(folder)  # it must be there, and is not read
        save_file(published(model), Path(folder) / WEIGHTS, metadata={"format": "pt"})
        return reference_model(Path(folder), model.config, dtype=like.dtype).to(like.device)
