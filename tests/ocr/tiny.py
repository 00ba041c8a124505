"""A model with every structural feature of the published one, small enough for tests, and its reference."""

import torch
from tokenizers import Tokenizer, models

from encoders.deepseek.clip import ClipConfig
from encoders.deepseek.deep_encoder import EncoderConfig
from encoders.deepseek.sam import SamConfig
from ocr.checkpoints.checkpoint import BOS, EOS
from ocr.model.deepseek_ocr import LanguageConfig, OcrConfig, OcrModel
from ocr.model.prompt import IMAGE_TAG
from ocr.model.random_weights import redraw
from pipeline.bench.reference import reference_config, reference_model

__all__ = ["TINY", "reference_config", "reference_model", "relative_error", "tiny_model", "tiny_tokenizer"]

# Windowed and global blocks with relative positions; a dense layer, then experts; grouped-query attention.
TINY = OcrConfig(
    encoder=EncoderConfig(
        sam=SamConfig(
            width=32, num_layers=3, num_heads=2, mlp_dim=64, global_layers=(1,),
            neck_channels=24, downsample_channels=(40, 48),
        ),
        clip=ClipConfig(width=48, num_layers=2, num_heads=2, mlp_dim=96),
        embed_dim=64,
    ),
    language=LanguageConfig(
        vocab_size=96, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, n_routed_experts=5, n_shared_experts=2, num_experts_per_tok=2,
        moe_intermediate_size=24,
    ),
)  # fmt: skip


def tiny_model(config: OcrConfig = TINY, seed: int = 0) -> OcrModel:
    model = OcrModel(config).eval()
    redraw(model, seed)
    return model.requires_grad_(False)


def tiny_tokenizer() -> Tokenizer:
    words = [BOS, EOS, IMAGE_TAG, *(f"w{i}" for i in range(60))]
    return Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="w0"))


def relative_error(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    return float((ours - theirs).norm() / theirs.norm())
