"""The encoders that are compared: transformers' classes, ours, and ours through graphs."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from encoders.deepseek import DeepEncoder
from encoders.views import PageViews
from ocr import checkpoint
from ocr.model import LanguageConfig, OcrConfig, OcrModel
from ocr.random_weights import redraw
from ocr.reference import reference_model

ARMS = ("reference", "eager")
RANDOM = "random"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """encode: the pages' vision tokens, [T, D] each, in order. calls_for: how many forwards that takes."""

    name: str
    encode: Callable[[Sequence[PageViews]], list[Tensor]]
    calls_for: Callable[[Sequence[PageViews]], int]


def load_model(name: str, device: torch.device, dtype: torch.dtype) -> OcrModel:
    """Returns the model; "random" is DeepSeek-OCR's encoder at full size with random weights.

    Its language model is a stub: nothing of it is measured here.
    """
    if name != RANDOM:
        return checkpoint.load(name, device=device, dtype=dtype).model
    stub = LanguageConfig(
        vocab_size=96, intermediate_size=64, num_hidden_layers=1, num_attention_heads=10, n_routed_experts=2,
        num_experts_per_tok=1, moe_intermediate_size=64,
    )  # fmt: skip
    with torch.device("meta"):
        model = OcrModel.from_config(OcrConfig(language=stub))
    model = model.to_empty(device=device).to(dtype).eval().requires_grad_(False)
    redraw(model)
    return model


def build(name: str, model: OcrModel) -> Arm:
    """Returns one of ARMS."""
    if name == "eager":
        encoder = model.encoder
        return Arm(name=name, encode=lambda pages: _eager(encoder, pages), calls_for=_calls)
    reference = _reference(model)
    return Arm(name=name, encode=lambda pages: _through(reference, model, pages), calls_for=_calls)


def _eager(encoder: DeepEncoder, pages: Sequence[PageViews]) -> list[Tensor]:
    return [page.tokens_TD for page in encoder.encode(pages)]


def _calls(pages: Sequence[PageViews]) -> int:
    """One forward for the global views and one for the tiles, if any."""
    return 1 + any(page.num_tiles for page in pages)


def _reference(model: OcrModel) -> Any:
    """transformers' model with the same weights, which pass through a checkpoint on disk."""
    like = model.encoder.image_newline
    with tempfile.TemporaryDirectory(prefix="ocrbatch-bench-") as folder:
        checkpoint.save(model, Path(folder))
        return reference_model(Path(folder), model.config, dtype=like.dtype).to(like.device)


def _through(reference: Any, model: OcrModel, pages: Sequence[PageViews]) -> list[Tensor]:
    like = model.encoder.image_newline

    def normalised(views: Sequence[Any]) -> Tensor:
        stacked = torch.stack([torch.from_numpy(view) for view in views]).to(like.device)
        return (stacked / 127.5 - 1).to(like.dtype)

    tiles = [tile for page in pages for tile in page.local_views]
    local = normalised(tiles) if tiles else None
    found = reference.model.get_image_features(
        normalised([page.global_view for page in pages]),
        local,
        num_local_patches=[page.num_tiles for page in pages],
        patches_grid=[list(page.grid) for page in pages],
    )
    return list(found.pooler_output)
