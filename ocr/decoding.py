"""The language model reads pages: greedy, in batches, each page under its own limits."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from encoders.types import VisionTokens
from ocr.greedy import LiveBatch, choose
from ocr.prompt import encode_prompt, splice
from ocr.reading import DecodeSettings, Loaded, PageReading, start_reading
from ocr.second_opinion import SecondOpinion
from ocr.types import Transcript

# Without cuDNN's, which makes a plan for every length: 31 pages took 95 s on an H200, most of it that.
_ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeOutput:
    """transcripts: one a page, in order. prefill_s, generate_s: wall seconds of the whole batch."""

    transcripts: list[Transcript]
    prefill_s: float
    generate_s: float


@torch.inference_mode()
def decode_pages(
    loaded: Loaded,
    vision: Sequence[VisionTokens],
    *,
    prompt: str,
    settings: Sequence[DecodeSettings],
    opinions: Sequence[SecondOpinion | None] | None = None,
) -> DecodeOutput:
    """Read a batch of pages. Finished pages leave the batch, so short ones do not pay for long ones.

    settings: one a page. A page without room for any output ends as "length" with an empty transcript.
    opinions: one a page, None where there is none; they hold a reading to the length of what they see.

    Raises: ocr.prompt.PromptError; DecodeError when logits are not numbers.
    """
    opinions = opinions or [None] * len(vision)
    assert len(vision) == len(settings) == len(opinions)
    started = time.perf_counter()
    ids = encode_prompt(loaded.tokenizer, prompt, bos_id=loaded.bos_id)
    pages = [
        start_reading(loaded, len(ids) + len(tokens.tokens_TD), limits, opinion)
        for tokens, limits, opinion in zip(vision, settings, opinions, strict=True)
    ]
    live_pages = [page for page in pages if page.budget > 0]
    prefilled = generated = started
    if live_pages:
        embed_tokens = loaded.model.language_model.get_input_embeddings()
        readable = [tokens.tokens_TD for tokens, page in zip(vision, pages, strict=True) if page.budget > 0]
        with sdpa_kernel(_ATTENTION):
            batch = LiveBatch(loaded.model, splice(embed_tokens, ids, readable))
            if batch.logits_BV.is_cuda:
                torch.cuda.synchronize(batch.logits_BV.device)
            prefilled = time.perf_counter()
            _generate(batch, live_pages, loaded.eos_id)
            generated = time.perf_counter()
    return DecodeOutput(
        transcripts=[page.transcript(loaded.tokenizer) for page in pages],
        prefill_s=prefilled - started,
        generate_s=generated - prefilled,
    )


def _leaders_in_place(
    batch: LiveBatch, pages: Sequence[PageReading], banned: Sequence[set[int]]
) -> dict[int, tuple[int, float]]:
    """Row -> token and log probability, of rows whose likeliest token is a banned leader."""
    if not any(page.leaders & tokens for page, tokens in zip(pages, banned, strict=True)):
        return {}
    _, likeliest, logprobs = choose(batch.logits_BV, [()] * len(pages))
    return {
        row: (token, logprob)
        for row, (page, token, logprob) in enumerate(zip(pages, likeliest, logprobs, strict=True))
        if token in page.leaders & banned[row]
    }


def _generate(batch: LiveBatch, pages: Sequence[PageReading], eos_id: int) -> None:
    """Step until every page is finished; what each wrote is in its state."""
    while True:
        banned = [page.ban.banned() for page in pages]
        chosen_B, tokens, logprobs = choose(batch.logits_BV, banned)
        if refused := [
            row
            for row, (page, token) in enumerate(zip(pages, tokens, strict=True))
            if token == eos_id and page.length.refuses_end(page.tokens)
        ]:
            for row in refused:
                banned[row] = {*banned[row], eos_id}
            chosen_B, tokens, logprobs = choose(batch.logits_BV, banned)
        written = _leaders_in_place(batch, pages, banned)
        goes_on = [
            page.take(token, logprob, eos_id, written.get(row))
            for row, (page, token, logprob) in enumerate(zip(pages, tokens, logprobs, strict=True))
        ]
        kept = [row for row, more in enumerate(goes_on) if more]
        if not kept:
            return
        if len(kept) < len(pages):
            pages = [pages[row] for row in kept]
            batch.keep(kept)
            chosen_B = chosen_B[kept]
        batch.advance(chosen_B)
