"""Gives random weights to modules built on the meta device; makes a whole model with such, and a tokenizer for it."""

from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models
from torch import nn

from ocr.checkpoints.checkpoint import BOS, EOS, LoadedModel
from ocr.model.deepseek_ocr import OcrConfig, OcrModel
from ocr.model.prompt import IMAGE_TAG
from ocr.model.random_weights import redraw
from pipeline.bench.bench_figures import RANDOM

_LINE_WORDS = 12


def draw(module: nn.Module, device: torch.device, dtype: torch.dtype) -> None:
    """Replaces the parameters by random ones, drawn on the device; buffers move there with their numbers.

    Rotary positions of transformers, whose numbers the meta device does not hold, are computed again.
    """
    for owner in list(module.modules()):
        for name, parameter in owner._parameters.items():
            if parameter is not None:
                empty = torch.empty(parameter.shape, dtype=dtype, device=device)
                owner._parameters[name] = nn.Parameter(empty, requires_grad=False)
        for name, child in owner.named_children():
            rotary: Any = child
            if getattr(rotary, "inv_freq", None) is not None and rotary.inv_freq.is_meta:
                setattr(owner, name, type(rotary)(rotary.config))
    module.to(device).eval()
    if device.type != "meta":  # it draws nothing, and takes no generator
        redraw(module)


def _letters(vocab_size: int) -> Tokenizer:
    """Returns a byte-level tokenizer, so that words and line breaks cost a run the same as with the published one."""
    words = {name: place for place, name in enumerate((BOS, EOS, IMAGE_TAG, "?"))}
    for place in range(len(words), vocab_size):
        # The letters that stand for a line break and for a space in a byte-level vocabulary.
        words[("Ċ" if place % _LINE_WORDS == 0 else "Ġ") + f"{place:x}"] = place
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="?"))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def random_loaded(config: OcrConfig, device: torch.device, dtype: torch.dtype) -> LoadedModel:
    """Returns a model with random weights, drawn on the device. Its tokenizer knows no words of a prompt."""
    with torch.device("meta"):
        model = OcrModel(config)
    draw(model, device, dtype)
    return LoadedModel(
        model=model,
        tokenizer=_letters(config.language.vocab_size),
        name=RANDOM,
        bos_id=0,
        eos_id=1,
    )
