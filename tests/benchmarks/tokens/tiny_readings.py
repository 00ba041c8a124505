"""A checkpoint that loads at once, and encoded pages of random numbers, for the tests beside."""

from pathlib import Path

import torch

from encoders.types import VisionTokens
from ocr.checkpoints import checkpoint
from tests.benchmarks.tokens.reading_engines import Reading
from tests.ocr.tiny import tiny_model, tiny_tokenizer


def tiny_checkpoint(folder: Path) -> Path:
    checkpoint.save(tiny_model(), folder, tokenizer=tiny_tokenizer())
    return folder


def tiny_readings(dtype: torch.dtype = torch.float32) -> list[Reading]:
    """Returns four pages of 6 or 7 vision tokens."""
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.randn(6 + page % 2, 64, generator=generator).to(dtype) for page in range(4)]
    return [
        Reading(name=f"p{page}", kind="pdf", vision=VisionTokens(tokens_TD=tokens, num_local=0, grid=(1, 1)))
        for page, tokens in enumerate(drawn)
    ]
