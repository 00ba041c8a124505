"""Defines the ways of decoding to compare: transformers' generate, our engine, and that with its kernels for a GPU.

All decode greedily and end a page only at its end of text or its last token, without n-gram ban and loop
detection, so that equal logits give equal texts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.decoding.gpu.reader import PagedReader, UnusableError
from ocr.decoding.requests import PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.model.deepseek_ocr import OcrConfig
from pipeline.bench.generation.page_prompts import PagePrompt
from pipeline.bench.model_names import RANDOM
from pipeline.bench.random_model import random_loaded
from pipeline.bench.reference import load_reference
from pipeline.errors import ConfigError

DECODE_ARMS = ("generate", "engine", "paged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The output for one page. tokens: without the end of text. ended: whether that was reached."""

    tokens: tuple[int, ...]
    ended: bool


# Decodes a batch of pages together, with at most this many tokens each.
DecodeArm = Callable[[Sequence[PagePrompt], int], list[Written]]


class GenerateArm:
    """Decodes with transformers' own class and the same weights. Prompts of a batch are padded on the left."""

    def __init__(self, loaded: LoadedModel) -> None:
        self._model: Any = load_reference(loaded.model)
        self._eos_id = loaded.eos_id

    def __call__(self, pages: Sequence[PagePrompt], max_new_tokens: int) -> list[Written]:
        prompts = [page.embeds_LD for page in pages]
        longest = max(map(len, prompts))
        embeds_BLD = prompts[0].new_zeros(len(prompts), longest, prompts[0].shape[1])
        mask_BL = torch.zeros(len(prompts), longest, dtype=torch.long, device=embeds_BLD.device)
        for row, prompt_LD in enumerate(prompts):
            embeds_BLD[row, longest - len(prompt_LD) :] = prompt_LD
            mask_BL[row, longest - len(prompt_LD) :] = 1
        generated = self._model.generate(
            inputs_embeds=embeds_BLD,
            attention_mask=mask_BL,
            max_new_tokens=max_new_tokens,
            do_sample=False,
            eos_token_id=self._eos_id,
            pad_token_id=self._eos_id,
        )
        return [self._written(row) for row in generated.tolist()]

    def _written(self, row: list[int]) -> Written:
        ended = self._eos_id in row
        tokens = row[: row.index(self._eos_id)] if ended else row
        return Written(tokens=tuple(tokens), ended=ended)


class EngineArm:
    """Decodes with the model's engine for any device, or with its paged one."""

    def __init__(self, loaded: LoadedModel, *, paged: PagedReader | None = None) -> None:
        self._loaded = loaded
        self._paged = paged

    def __call__(self, pages: Sequence[PagePrompt], max_new_tokens: int) -> list[Written]:
        requests = [
            PageRequest(
                vision=page.vision,
                settings=DecodeSettings(
                    max_tokens=len(page.embeds_LD) + max_new_tokens, ngram_size=0, loop_tokens=0
                ),
            )
            for page in pages
        ]
        prompt = self._loaded.prompt
        if self._paged is not None:
            found = self._paged.read(requests, prompt)
        else:
            found = self._loaded.engine(prompt=prompt, num_slots=max(len(pages), 1)).read(requests)
        return [
            Written(tokens=page.transcript.token_ids, ended=page.transcript.finish == "eos")
            for page in sorted(found, key=lambda page: page.index)
        ]


def build(name: str, loaded: LoadedModel, *, slots: int, max_tokens: int) -> DecodeArm:
    """Returns the arm with this name, one of DECODE_ARMS.

    slots, max_tokens: the paged engine's pages at once, and the most tokens of one with its prompt.
    Raises: ConfigError where the paged engine cannot be used.
    """
    if name == "generate":
        return GenerateArm(loaded)
    if name != "paged":
        return EngineArm(loaded)
    try:
        return EngineArm(loaded, paged=PagedReader.open(loaded, slots=slots, max_tokens=max_tokens))
    except UnusableError as error:
        raise ConfigError(
            f"the arm paged cannot be measured here: {error}; leave it out of --arms"
        ) from error


def load(name: str, device: torch.device, dtype: torch.dtype) -> LoadedModel:
    """Returns the model; "random" is DeepSeek-OCR at full size. Raises: CheckpointError."""
    if name == RANDOM:
        return random_loaded(OcrConfig(), device, dtype)
    return checkpoint.load(name, device=device, dtype=dtype)
