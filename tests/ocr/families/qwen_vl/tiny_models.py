"""Whole Qwen-VL models, small enough for tests, and a tokenizer of single characters with the published markers."""

import string
from functools import cache
from typing import Any

from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import (
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)

from tests.encoders.native.tiny_qwen import QWEN2_5, QWEN3, sharpen

MARKERS = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
    "<|video_pad|>",
]  # fmt: skip
PAD, TURN_END = 0, 2


@cache
def tiny_tokenizer() -> Tokenizer:
    words = {word: index for index, word in enumerate([*MARKERS, *string.printable])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.add_special_tokens([AddedToken(marker, normalized=False) for marker in MARKERS])
    return tokenizer


def token_id(text: str) -> int:
    found: int | None = tiny_tokenizer().token_to_id(text)
    assert found is not None
    return found


def tiny_config(model: str) -> Any:
    sizes = {
        "vocab_size": 112, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4,
        "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 2048,
        "bos_token_id": None, "eos_token_id": TURN_END, "pad_token_id": PAD,
    }  # fmt: skip
    markers = {
        "image_token_id": token_id("<|image_pad|>"), "video_token_id": token_id("<|video_pad|>"),
        "vision_start_token_id": token_id("<|vision_start|>"), "vision_end_token_id": token_id("<|vision_end|>"),
    }  # fmt: skip
    rope: dict[str, Any] = {"rope_type": "default", "rope_theta": 10000.0}
    if model == "qwen3":
        rope["mrope_section"] = [4, 2, 2]
        text = sizes | {"head_dim": 16, "rope_parameters": rope}
        return Qwen3VLConfig(text_config=text, vision_config=QWEN3.to_dict(), **markers)
    rope["mrope_section"] = [2, 3, 3]
    text = sizes | {"rope_parameters": rope}
    return Qwen2_5_VLConfig(text_config=text, vision_config=QWEN2_5.to_dict(), **markers)


@cache
def tiny_model(model: str) -> Any:
    kinds = {"qwen3": Qwen3VLForConditionalGeneration, "qwen2_5": Qwen2_5_VLForConditionalGeneration}
    whole = kinds[model](tiny_config(model))
    sharpen(whole, seed=3)
    whole.generation_config.update(eos_token_id=TURN_END, pad_token_id=PAD)
    return whole.eval().requires_grad_(False)
