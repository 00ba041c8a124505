"""Loads published document models with transformers' own classes, without any code of the models' own."""

from pathlib import Path

import torch
from transformers import CONFIG_MAPPING

from ocr.families.family import ModelFacts, NumberFormat
from ocr.families.generation.transformers_loading import load_class, refusals
from ocr.families.published.known_model import known_model
from ocr.families.published.processors import load_processor
from ocr.families.published.published_reader import PublishedReader
from ocr.model_files.locate import read_json


def load(
    directory: Path,
    *,
    name: str,
    device: str,
    dtype: NumberFormat,
    encoder_dtype: NumberFormat,
    prompt: str | None,
    entry: str | None = None,
) -> PublishedReader:
    """Returns the model; see ocr.families.family.Family.load. encoder_dtype is dtype for these models.

    Raises: CheckpointError for files that are missing or that these classes cannot load.
    """
    raw = read_json(directory / "config.json")
    known = known_model(ModelFacts(name=name, config=raw, entry=entry)).model
    with refusals(directory, known.model_type):
        # Not AutoConfig: what config.json names may be another class, which would leave parts at random.
        config = CONFIG_MAPPING[known.model_type].from_dict({**raw, "model_type": known.model_type})
        model = load_class(directory, config, getattr(torch, dtype))
        processor = load_processor(directory)
    return PublishedReader(
        name=name,
        known=known,
        model=model.to(device),
        processor=processor,
        prompt=known.prompts["page"] if prompt is None else prompt,
    )
