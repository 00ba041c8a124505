"""A tiny random Unlimited-OCR, saved as it is published: the publisher's config.json and tensor names."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.ocr.families.published.tiny_published import tokenizer
from tests.ocr.saving import save as save_checkpoint
from tests.ocr.tiny import TINY, tiny_model

SLIDING_WINDOW = 6
# Byte-level, so that any prompt is a known one; then the special tokens.
SPECIALS = ("<|pad|>", "<|bos|>", "<|eos|>", "<image>", "<|det|>", "<|/det|>")
PAD, BOS, EOS, IMAGE = range(256, 260)
CONFIG = replace(
    TINY,
    language=replace(
        TINY.language, vocab_size=264, bos_token_id=BOS, eos_token_id=EOS, max_position_embeddings=4096
    ),
)


def config_json(base: dict[str, Any]) -> dict[str, Any]:
    """The publisher's config.json, as far as it differs from DeepSeek-OCR's. base: that of a tiny DeepSeek-OCR."""
    return base | {
        "_name_or_path": "Unlimited-OCR",
        "architectures": ["UnlimitedOCRForCausalLM"],
        "model_type": "unlimited-ocr",
        "sliding_window": SLIDING_WINDOW,
        "sliding_window_size": SLIDING_WINDOW,
    }


def save(folder: Path) -> Path:
    tok = tokenizer(SPECIALS, eos="<|eos|>", pad_token="<|pad|>", bos_token="<|bos|>")
    save_checkpoint(tiny_model(CONFIG), folder, tokenizer=tok.backend_tokenizer)
    path = folder / "config.json"
    config = config_json(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(config), encoding="utf-8")
    return folder
