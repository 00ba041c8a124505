"""Saves models of DeepSeek-OCR's shape as the published checkpoint is: the same files, keys and tensors' names."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

from ocr.checkpoints.checkpoint import published
from ocr.model.deepseek_ocr import _CLIP, _CLIP_SIZES, _FIXED, _SAM, _SAM_SIZES, OcrConfig, OcrModel
from ocr.model_files.locate import WEIGHTS


def save(
    model: OcrModel, directory: Path, *, tokenizer: Tokenizer | None = None, dtype: torch.dtype | None = None
) -> None:
    """Writes config.json, model.safetensors and, if given, tokenizer.json. dtype: the model's own by default."""
    directory.mkdir(parents=True, exist_ok=True)
    tensors = {key: tensor.to(dtype or tensor.dtype) for key, tensor in published(model).items()}
    save_file(tensors, directory / WEIGHTS, metadata={"format": "pt"})
    (directory / "config.json").write_text(json.dumps(config_json(model.config), indent=2), encoding="utf-8")
    if tokenizer is not None:
        tokenizer.save(str(directory / "tokenizer.json"))


def config_json(config: OcrConfig) -> dict[str, Any]:
    """Returns a config.json of the published layout, which OcrConfig.from_json reads back."""
    sam, clip = config.encoder.sam, config.encoder.clip
    widths = {
        _SAM: {theirs: getattr(sam, ours) for ours, theirs in _SAM_SIZES.items()}
        | {"image_size": sam.pos_grid * sam.patch_px},
        _CLIP: {theirs: getattr(clip, ours) for ours, theirs in _CLIP_SIZES.items()}
        | {"patch_size": 14, "image_size": clip.pos_grid * 14},
    }
    return {
        "model_type": "deepseek_vl_v2",
        "architectures": ["DeepseekOCRForCausalLM"],
        "language_config": {**asdict(config.language), **_FIXED},
        "projector_config": {
            "projector_type": "linear",
            "model_type": "mlp_projector",
            "input_dim": clip.width + sam.downsample_channels[-1],
            "n_embed": config.encoder.embed_dim,
        },
        "vision_config": {"model_type": "vision", "model_name": "deeplip_b_l", "width": widths},
    }
