"""Makes a model with random weights, and a tokenizer for it."""

import torch
from tokenizers import Tokenizer, decoders, models

from ocr.checkpoints.checkpoint import BOS, EOS, IMAGE, LoadedModel
from ocr.model.deepseek_ocr import OcrConfig, OcrModel
from ocr.model.random_weights import redraw
from pipeline.bench.model_names import RANDOM

_LINE_WORDS = 12


def _letters(vocab_size: int) -> Tokenizer:
    """Returns a byte-level tokenizer, so that words and line breaks cost a run the same as with the published one."""
    words = {name: place for place, name in enumerate((BOS, EOS, IMAGE, "?"))}
    for place in range(len(words), vocab_size):
        # The letters that stand for a line break and for a space in a byte-level vocabulary.
        words[("Ċ" if place % _LINE_WORDS == 0 else "Ġ") + f"{place:x}"] = place
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="?"))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def random_loaded(config: OcrConfig, device: torch.device, dtype: torch.dtype) -> LoadedModel:
    """Returns a model with random weights, drawn on the device. Its tokenizer knows no words of a prompt."""
    with torch.device("meta"):
        model = OcrModel.from_config(config)
    model = model.to_empty(device=device).to(dtype).eval().requires_grad_(False)
    redraw(model)
    text = model.language_model
    text.rotary_emb = type(text.rotary_emb)(text.config).to(device)  # to_empty left its tables undefined
    return LoadedModel(
        model=model,
        tokenizer=_letters(config.language.vocab_size),
        name=RANDOM,
        weights_sha256="",
        prompt=config.prompt,
        image_token_id=2,
        bos_id=0,
        eos_id=1,
    )
