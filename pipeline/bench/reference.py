"""Loads transformers' classes with our weights as a reference for benchmarks, and encodes pages with them."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import UnlimitedOcrConfig, UnlimitedOcrForConditionalGeneration
from transformers.utils import logging

from encoders.deepseek.from_transformers import vision_config
from encoders.views import PageViews, UInt8Array
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


def load_reference(model: OcrModel, dtype: torch.dtype | None = None) -> Any:
    """Returns transformers' model with the same weights, which pass through a checkpoint on disk.

    dtype: the model's own by default.
    """
    like = model.encoder.image_newline
    with tempfile.TemporaryDirectory(prefix="ocrbatch-bench-") as folder:
        checkpoint.save(model, Path(folder))
        return reference_model(Path(folder), model.config, dtype=dtype or like.dtype).to(like.device)


def page_tokens(model: Any, pages: Sequence[PageViews]) -> list[Tensor]:
    """Returns the pages' vision tokens, [T, D] each, in order. model: without the head; of DeepSeek-OCR or -OCR-2."""
    tiles = [tile for page in pages for tile in page.local_views]
    grids = {"patches_grid": [list(page.grid) for page in pages]} if hasattr(model, "image_newline") else {}
    found = model.get_image_features(
        _stacked(model, [page.global_view for page in pages]),
        _stacked(model, tiles) if tiles else None,
        num_local_patches=[page.num_tiles for page in pages],
        **grids,
    )
    return list(found.pooler_output)


def _stacked(model: Any, views: Sequence[UInt8Array]) -> Tensor:
    like = next(model.parameters())
    return (torch.stack([torch.from_numpy(view) for view in views]).to(like.device) / 127.5 - 1).to(
        like.dtype
    )
