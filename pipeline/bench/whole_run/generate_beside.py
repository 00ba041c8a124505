"""Times transformers' `generate` on the pages that a run read, for comparison."""

from collections.abc import Sequence
from typing import Any

import torch

from ocr.checkpoints.checkpoint import LoadedModel
from pipeline.bench.generation.decode_arms import GenerateArm
from pipeline.bench.generation.decode_bench import timed
from pipeline.bench.generation.page_prompts import page_prompt
from pipeline.bench.real_pages import first_pages
from pipeline.documents.settings import TileSettings

_VIEWS_AT_ONCE = 32


@torch.inference_mode()
def generate_beside(
    loaded: LoadedModel, paths: Sequence[str], layout: TileSettings, num_pages: int, max_new_tokens: int
) -> dict[str, Any]:
    """Times `generate` on the first num_pages pages, read whole, all in one batch; returns figures as JSON values.

    They are of decoding alone, prefill included, without encoding and files. Raises: CheckpointError, ConfigError.
    """
    views = [page.views for page in first_pages(paths, layout, num_pages, "PATH")]
    encoded = loaded.model.encoder.encode(views, max_views=_VIEWS_AT_ONCE)
    pages = [page_prompt(loaded, vision) for vision in encoded]
    wall_s, _, written = timed(GenerateArm(loaded), pages, len(pages), max_new_tokens)
    num_tokens = sum(len(page.tokens) for page in written)
    return {
        "name": "generate",
        "num_pages": len(pages),
        "num_tokens": num_tokens,
        "wall_s": wall_s,
        "pages_s": len(pages) / wall_s,
        "tokens_s": num_tokens / wall_s,
    }
