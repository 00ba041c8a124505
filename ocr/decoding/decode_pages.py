"""Reads a batch of pages with the language model: greedy decoding, each page under its own limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from encoders.types import VisionTokens
from ocr.decoding.cpu.slot_engine import Engine
from ocr.decoding.requests import PageRequest
from ocr.decoding.sequence.page_reading import DecodeSettings, Loaded
from ocr.speculative.draft import Draft
from ocr.types import Transcript

if TYPE_CHECKING:
    from ocr.decoding.gpu.reader import PagedReader


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeOutput:
    """The transcripts of a batch, and what they took.

    transcripts: one a page, in order. prefill_s, generate_s: wall seconds of the whole batch.
    num_steps: one a page, the forward passes that it took part in after its prefill.
    """

    transcripts: list[Transcript]
    prefill_s: float
    generate_s: float
    num_steps: list[int]

    @property
    def num_tokens(self) -> int:
        """The tokens written by all pages.

        Divided by the sum of num_steps: tokens accepted a step, 1 without drafts.
        """
        return sum(len(transcript.token_ids) for transcript in self.transcripts)


def decode_pages(
    loaded: Loaded,
    vision: Sequence[VisionTokens],
    *,
    prompt: str,
    settings: Sequence[DecodeSettings],
    drafts: Sequence[Draft | None] | None = None,
    paged: "PagedReader | None" = None,
) -> DecodeOutput:
    """Reads a batch of pages together; finished pages leave it, so short ones do not pay for long ones.

    settings: one a page. A page without room for any output ends as "length" with an empty transcript.
    drafts: one a page, None where there is none; they change how long it takes, never what is read.
    paged: this model's GPU engine; it reads all pages unless it ran out of memory before. Without it ocr.decoding.cpu
    reads them.

    Raises: ocr.model.prompt.PromptError; ocr.decoding.sequence.page_reading.DecodeError when logits are not numbers.
    """
    requests = [
        PageRequest(vision=tokens, settings=limits, draft=draft)
        for tokens, limits, draft in zip(vision, settings, drafts or [None] * len(vision), strict=True)
    ]
    if paged is not None and paged.ready():
        found = paged.read(requests, prompt)
    else:
        found = Engine(loaded, prompt=prompt, num_slots=max(len(requests), 1)).read(requests)
    reads = sorted(found, key=lambda read: read.index)
    return DecodeOutput(
        transcripts=[read.transcript for read in reads],
        prefill_s=sum(read.prefill_s for read in reads),
        generate_s=sum(read.generate_s for read in reads),
        num_steps=[read.num_steps for read in reads],
    )
