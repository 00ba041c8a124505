"""Replays pages of the training corpus next to a user's own, so that a model does not forget what it could read."""

import random
from collections.abc import Iterator
from pathlib import Path

import torch

from ocr.checkpoints.checkpoint import LoadedModel
from ocr.training.finetune.pairs import PairsError
from ocr.training.finetune.tuning import PageInput
from ocr.training.sampling_pages.loader import collate
from ocr.training.sampling_pages.samples import Prompt, Sample, Sampler
from ocr.training.trainer.batch_inputs import PROMPTS, make_views

REAL_SHARE, GROUNDED_SHARE = 0.5, 0.4
MAX_TOKENS = 1800


def replayed(corpus: Path, loaded: LoadedModel, seed: int) -> Iterator[PageInput]:
    """Yields degraded pages of an ocr.training.corpus folder without end; half of them from documents, if it has any.

    A model that is asked for markdown by default gets pages with that prompt as well.

    Raises: PairsError, at once, if the folder is no corpus.
    """
    if not (corpus / "fonts" / "index.json").is_file() or not (corpus / "text").is_dir():
        raise PairsError(
            f"{corpus} is no training corpus; make one with `python -m ocr.training.corpus {corpus}`"
        )
    sampler = Sampler(corpus, loaded.tokenizer, "", split="train", font_split="train")
    knows_markdown = "<|grounding|>" in loaded.prompt
    return _pages(sampler, random.Random(seed), GROUNDED_SHARE if knows_markdown else 0.0)


def _pages(sampler: Sampler, rng: random.Random, grounded: float) -> Iterator[PageInput]:
    while True:
        prompt: Prompt = "grounded" if rng.random() < grounded else "plain"
        sample = sampler.draw(rng, "page", real=REAL_SHARE, prompt=prompt)
        if sample is not None and len(sample.ids) <= MAX_TOKENS:
            yield _input(sample)


def _input(sample: Sample) -> PageInput:
    views = make_views(collate([sample]), torch.device("cpu"), strength=1.0)
    assert views.tiles is not None, "a sample of view page has tiles"
    assert views.globals_ is not None, "and a global view"
    return PageInput(
        tiles=views.tiles,
        global_view=views.globals_,
        grid=sample.grid,
        prompt=PROMPTS[sample.prompt],
        ids=tuple(int(i) for i in sample.ids),
    )
