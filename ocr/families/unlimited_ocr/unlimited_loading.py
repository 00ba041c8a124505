"""Loads Unlimited-OCR from its published files: transformers' class holds the weights, our encoder runs over them.

Its processor, which needs torchvision, is not used: pages are cut by `unlimited_views`, prompts made by the reader.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import UnlimitedOcrConfig

from encoders.deepseek.from_transformers import encoder_of
from ocr.errors import CheckpointError
from ocr.families.family import ModelFacts, NumberFormat
from ocr.families.generation.transformers_loading import load_class, refusals
from ocr.families.published.known_model import known_model
from ocr.families.unlimited_ocr.padded_batches import hide_padding
from ocr.families.unlimited_ocr.unlimited_reader import UnlimitedReader
from ocr.families.unlimited_ocr.unlimited_views import read_views
from ocr.model.deepseek_ocr import OcrConfig
from ocr.model.prompt import IMAGE_TAG, encode_prompt
from ocr.model.reference import vision_config
from ocr.model_files.locate import read_json, read_tokenizer

_TYPE = "unlimited_ocr"
_SLIDING_WINDOW = 128


def load(
    directory: Path,
    *,
    name: str,
    device: str,
    dtype: NumberFormat,
    encoder_dtype: NumberFormat,
    prompt: str | None,
    entry: str | None = None,
) -> UnlimitedReader:
    """Returns the model; see ocr.families.family.Family.load. encoder_dtype is dtype for these models.

    Raises: CheckpointError; PromptError for a prompt without a place for the page.
    """
    raw = read_json(directory / "config.json")
    known = known_model(ModelFacts(name=name, config=raw, entry=entry)).model
    tokenizer = read_tokenizer(directory / "tokenizer.json")
    image_id = tokenizer.token_to_id(IMAGE_TAG)
    if image_id is None:
        raise CheckpointError(
            f"{directory / 'tokenizer.json'} has no token {IMAGE_TAG!r}; use the one published with the model"
        )
    with refusals(directory, _TYPE):
        config = model_config(raw)
        config.image_token_id = image_id
        model = load_class(directory, config, getattr(torch, dtype))
    model = model.to(device)
    hide_padding(model.base_model.language_model)
    encoder = encoder_of(model.base_model)
    if device == "cuda":
        encoder.store_channels_last()
    asked = known.prompts["page"] if prompt is None else prompt
    return UnlimitedReader(
        name=name,
        known=known,
        model=model,
        encoder=encoder,
        views=read_views(directory),
        tokenizer=tokenizer,
        prompt=asked,
        prompt_ids=encode_prompt(tokenizer, asked, bos_id=config.text_config.bos_token_id),
    )


def model_config(raw: Mapping[str, Any]) -> UnlimitedOcrConfig:
    """Returns transformers' configuration by a config.json: transformers' own, or of the publisher's layout.

    transformers takes the sizes of the publisher's vision encoder as given, and would not read others.
    Raises: CheckpointError.
    """
    if "language_config" not in raw:
        return UnlimitedOcrConfig.from_dict({**raw, "model_type": _TYPE})
    sizes = OcrConfig.from_json({**raw, "model_type": "deepseek_vl_v2"})
    text = sizes.language.to_transformers().to_dict()
    del text["layer_types"]  # by default every layer's attention slides
    return UnlimitedOcrConfig(
        vision_config=vision_config(sizes.encoder),
        text_config={**text, "sliding_window": raw.get("sliding_window", _SLIDING_WINDOW)},
        tie_word_embeddings=sizes.language.tie_word_embeddings,
    )
