"""Loads the encoder that --model names: of a checkpoint of any family, or of published sizes with random weights."""

import torch

from ocr.families.family import NumberFormat
from ocr.families.registry import family_of
from ocr.model_files.locate import find_directory
from pipeline.bench.encoding.encoder_subject import EncoderSubject, subject_of
from pipeline.bench.encoding.published_sizes import published_size
from pipeline.bench.encoding.random_encoders import random_subject


def load_encoder(name: str, device: torch.device, dtype: NumberFormat) -> EncoderSubject:
    """Returns the encoder on its device. Raises: CheckpointError, ConfigError for unknown sizes."""
    size = published_size(name)
    if size is not None:
        return random_subject(size, device, getattr(torch, dtype))
    directory = find_directory(name)
    family = family_of(directory)
    loaded = family.load(
        directory, name=name, device=device.type, dtype=dtype, encoder_dtype=dtype, prompt=None
    )
    return subject_of(loaded, family.view_maker(directory), family.video_maker(directory))
