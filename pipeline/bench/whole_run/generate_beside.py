"""Times transformers' `generate` on the pages that a run read, for comparison."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ocr.checkpoints.checkpoint import LoadedModel
from pipeline.bench.generation.decode_arms import GenerateArm
from pipeline.bench.generation.page_prompts import page_prompt
from pipeline.bench.real_pages import first_pages
from pipeline.documents.settings import TileSettings

_WARM_UP_TOKENS = 8
_VIEWS_AT_ONCE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class SideBySide:
    """The time of decoding alone, prefill included, with all pages in one batch; without encoding and files."""

    name: str
    num_pages: int
    num_tokens: int
    wall_s: float

    @property
    def pages_s(self) -> float:
        """The pages per second."""
        return self.num_pages / self.wall_s

    @property
    def tokens_s(self) -> float:
        """The tokens per second."""
        return self.num_tokens / self.wall_s


@torch.inference_mode()
def generate_beside(
    loaded: LoadedModel, paths: Sequence[str], layout: TileSettings, num_pages: int, max_new_tokens: int
) -> SideBySide:
    """Times `generate` on the first num_pages pages, read whole. Raises: CheckpointError, ConfigError."""
    views = [page.views for page in first_pages(paths, layout, num_pages, "PATH")]
    encoded = loaded.model.encoder.encode(views, max_views=_VIEWS_AT_ONCE)
    pages = [page_prompt(loaded, vision) for vision in encoded]
    arm = GenerateArm(loaded)
    arm(pages, min(_WARM_UP_TOKENS, max_new_tokens))
    start = time.perf_counter()
    written = arm(pages, max_new_tokens)
    wall_s = time.perf_counter() - start
    return SideBySide(
        name="generate",
        num_pages=len(pages),
        num_tokens=sum(len(page.tokens) for page in written),
        wall_s=wall_s,
    )
