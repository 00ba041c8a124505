"""Loads our checkpoints into transformers' own DeepSeek-OCR classes, to compare results and speed with them.

Source: transformers' `unlimited_ocr`, which is this model (its defaults differ: see reference_config).
"""

from pathlib import Path
from typing import Any

import torch
from transformers import UnlimitedOcrConfig, UnlimitedOcrForConditionalGeneration
from transformers.utils import logging

from encoders.deepseek.deep_encoder import EncoderConfig
from ocr.model.deepseek_ocr import OcrConfig

# It only tells how many positions there are: SAM's features stand in for CLIP's patches.
_CLIP_PATCH_PX = 14


def reference_config(config: OcrConfig) -> UnlimitedOcrConfig:
    """Returns transformers' configuration of the same model, with full attention in every layer."""
    return UnlimitedOcrConfig(
        vision_config=vision_config(config.encoder),
        text_config=config.language.to_transformers().to_dict(),
        image_token_id=2,
        tie_word_embeddings=config.language.tie_word_embeddings,  # read from here; the text's own has no effect
    )


def vision_config(config: EncoderConfig) -> dict[str, Any]:
    """Returns transformers' configuration of the same vision encoder."""
    sam, clip = config.sam, config.clip
    return {
        "sam_config": {
            "hidden_size": sam.width,
            "num_hidden_layers": sam.num_layers,
            "num_attention_heads": sam.num_heads,
            "mlp_dim": sam.mlp_dim,
            "image_size": sam.pos_grid * sam.patch_px,
            "window_size": sam.window,
            "global_attn_indexes": list(sam.global_layers),
            "use_rel_pos": sam.use_rel_pos,
            "output_channels": sam.neck_channels,
            "downsample_channels": list(sam.downsample_channels),
            "layer_norm_eps": sam.layer_norm_eps,
        },
        "encoder_config": {
            "hidden_size": clip.width,
            "num_hidden_layers": clip.num_layers,
            "num_attention_heads": clip.num_heads,
            "intermediate_size": clip.mlp_dim,
            "image_size": clip.pos_grid * _CLIP_PATCH_PX,
            "patch_size": _CLIP_PATCH_PX,
            "layer_norm_eps": clip.layer_norm_eps,
        },
    }


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
