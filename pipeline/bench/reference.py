"""Loads transformers' classes with our weights as a reference for benchmarks, and encodes pages with them."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from encoders.views import PageViews, UInt8Array
from ocr.checkpoints import checkpoint
from ocr.model.deepseek_ocr import OcrModel
from ocr.model.reference import reference_model


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
