"""Defines the prompts to measure decoding on, and the ways of decoding to compare.

These are transformers' generate, our engine, and that with its kernels for a GPU. All decode greedily and end a
page only at its end of text or its last token, without n-gram ban and loop detection, so that equal logits give
equal texts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from encoders.types import VisionTokens
from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.decoding.gpu.reader import PagedReader, Prompts, UnusableError
from ocr.decoding.requests import PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings
from ocr.model.deepseek_ocr import OcrConfig
from ocr.model.prompt import encode_prompt
from pipeline.bench.bench_figures import RANDOM
from pipeline.bench.random_model import random_loaded
from pipeline.bench.real_pages import first_pages
from pipeline.bench.reference import load_reference
from pipeline.documents.settings import TileSettings
from pipeline.errors import ConfigError

DECODE_ARMS = ("generate", "engine", "paged")


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePrompt:
    """A page to decode. embeds_LD: its vision tokens within the prompt's words."""

    vision: VisionTokens
    embeds_LD: torch.Tensor


Tokens = tuple[int, ...]
# Decodes a batch of pages together, with at most so many tokens each. Returns them, without the end of text.
DecodeArm = Callable[[Sequence[PagePrompt], int], list[Tokens]]


class GenerateArm:
    """Decodes with transformers' own class and the same weights. Prompts of a batch are padded on the left."""

    def __init__(self, loaded: LoadedModel) -> None:
        self._model: Any = load_reference(loaded.model)
        self._eos_id = loaded.eos_id

    def __call__(self, pages: Sequence[PagePrompt], max_new_tokens: int) -> list[Tokens]:
        prompts = [page.embeds_LD for page in pages]
        generated = self._model.generate(
            inputs_embeds=pad_sequence(prompts, batch_first=True, padding_side="left"),
            attention_mask=pad_sequence(
                [prompt.new_ones(len(prompt), dtype=torch.long) for prompt in prompts],
                batch_first=True,
                padding_side="left",
            ),
            max_new_tokens=max_new_tokens,
            do_sample=False,
            eos_token_id=self._eos_id,
            pad_token_id=self._eos_id,
        )
        return [tuple(takewhile(lambda token: token != self._eos_id, row)) for row in generated.tolist()]


class EngineArm:
    """Decodes with the model's engine for any device, or with its paged one."""

    def __init__(self, loaded: LoadedModel, *, paged: PagedReader | None = None) -> None:
        self._loaded = loaded
        self._paged = paged

    def __call__(self, pages: Sequence[PagePrompt], max_new_tokens: int) -> list[Tokens]:
        requests = [
            PageRequest(
                vision=page.vision,
                settings=DecodeSettings(
                    max_tokens=len(page.embeds_LD) + max_new_tokens, ngram_size=0, loop_tokens=0
                ),
            )
            for page in pages
        ]
        engine = self._paged or self._loaded.engine(prompt=self._loaded.prompt, num_slots=max(len(pages), 1))
        found = sorted(engine.read(requests), key=lambda page: page.index)
        return [page.transcript.token_ids for page in found]


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
        paged = PagedReader.open(loaded, prompt=loaded.prompt, slots=slots, max_tokens=max_tokens)
        return EngineArm(loaded, paged=paged)
    except UnusableError as error:
        raise ConfigError(
            f"the arm paged cannot be measured here: {error}; leave it out of --arms"
        ) from error


def load(name: str, device: torch.device, dtype: torch.dtype) -> LoadedModel:
    """Returns the model; "random" is DeepSeek-OCR at full size. Raises: CheckpointError."""
    if name == RANDOM:
        return random_loaded(OcrConfig(), device, dtype)
    return checkpoint.load(name, device=device, dtype=dtype)


def page_prompts(loaded: LoadedModel, folder: str, count: int) -> list[PagePrompt]:
    """Returns the first `count` pages below a folder that are not blank, read whole and encoded one by one.

    Raises: ConfigError where there is none.
    """
    return [
        page_prompt(loaded, loaded.model.encoder.encode([page.views])[0])
        for page in first_pages(folder, TileSettings(), count)
    ]


def random_prompts(loaded: LoadedModel, count: int, num_tokens: int) -> list[PagePrompt]:
    """Returns prompts of num_tokens each, with random numbers as large as the model's own embeddings for the page.

    Raises: ConfigError where num_tokens leaves none for the page.
    """
    weight = loaded.model.language_model.embed_tokens.weight
    num_vision = num_tokens - len(encode_prompt(loaded.tokenizer, loaded.prompt, bos_id=loaded.bos_id))
    if num_vision < 1:
        raise ConfigError(
            f"--prompt-tokens {num_tokens}: the prompt's words leave none of them for the page; ask for more"
        )
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(count, num_vision, weight.shape[1], generator=generator) * weight.float().std().cpu()
    pages = drawn.to(weight.device, weight.dtype)
    return [page_prompt(loaded, VisionTokens(tokens_TD=page)) for page in pages]


def page_prompt(loaded: LoadedModel, vision: VisionTokens) -> PagePrompt:
    """Returns an encoded page within the model's own prompt."""
    ids = encode_prompt(loaded.tokenizer, loaded.prompt, bos_id=loaded.bos_id)
    return PagePrompt(vision=vision, embeds_LD=Prompts(loaded, ids).around(vision.tokens_TD))
