"""Makes the prompts to measure decoding on: real pages, or random embeddings."""

from dataclasses import dataclass

import torch

from encoders.types import VisionTokens
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.model.prompt import encode_prompt, splice
from pipeline.bench.real_pages import first_pages
from pipeline.documents.settings import TileSettings
from pipeline.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePrompt:
    """A page to decode. embeds_LD: its vision tokens within the prompt's words."""

    vision: VisionTokens
    embeds_LD: torch.Tensor


def page_prompts(loaded: LoadedModel, folder: str, count: int) -> list[PagePrompt]:
    """Returns the first `count` pages below a folder that are not blank, read whole and encoded one by one.

    Raises: ConfigError where there is none.
    """
    return [
        page_prompt(loaded, loaded.model.encoder.encode([page.views])[0])
        for page in first_pages([folder], TileSettings(), count)
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
    return [page_prompt(loaded, VisionTokens(tokens_TD=page, num_local=0, grid=(1, 1))) for page in pages]


def page_prompt(loaded: LoadedModel, vision: VisionTokens) -> PagePrompt:
    """Returns an encoded page within the model's own prompt."""
    ids = encode_prompt(loaded.tokenizer, loaded.prompt, bos_id=loaded.bos_id)
    (embeds_LD,) = splice(loaded.model.language_model.embed_tokens, ids, [vision.tokens_TD])
    return PagePrompt(vision=vision, embeds_LD=embeds_LD)
