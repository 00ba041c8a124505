"""The language model reads pages: greedy, in batches, each page under its own limits."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import torch
from tokenizers import Tokenizer

from encoders.types import VisionTokens
from ocr.greedy import LiveBatch, TextReader, choose
from ocr.length_control import LengthControl
from ocr.loops import LoopDetector, trim_tail
from ocr.ngram import NgramBan
from ocr.prompt import encode_prompt, splice
from ocr.second_opinion import SecondOpinion
from ocr.types import Finish, Transcript

ALLOWED_REPEATS = ("<td>", "</td>")
# Of contents and of lines to be filled in, in the tokenizer's spelling: "Ġ" is a space.
LEADERS = (".", "..", "...", "Ġ.", "Ġ...", "_", "__", "Ġ_", "Ġ__")


class DecodeError(RuntimeError):
    """The model's output cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeSettings:
    """Limits of one page's reading.

    max_tokens: prompt (vision tokens included) and output together; beyond the model's positions, those.
    ngram_size, ngram_window: the no-repeat n-gram (ocr.ngram); size 0 switches it off.
    loop_tokens, loop_repeats, loop_period: what counts as a loop (ocr.loops: min_tokens, min_repeats,
        max_period); loop_tokens 0 switches it off. loop_variety: its min_variety.
    min_share: an end is refused until so much of what the second opinion sees is written; 0 takes any.
    max_share: a page that writes more than so many times what it sees is stopped as a loop; 0 lets any.
    """

    max_tokens: int = 8192
    ngram_size: int = 20
    ngram_window: int = 50
    loop_tokens: int = 768
    loop_repeats: int = 4
    loop_period: int = 1024
    loop_variety: float = 0.05
    min_share: float = 0.85
    max_share: float = 1.5


_BY_KIND = {
    "pdf": DecodeSettings(ngram_size=20, ngram_window=50),
    "image": DecodeSettings(ngram_size=30, ngram_window=90),
}


def settings_for(kind: Literal["pdf", "image"]) -> DecodeSettings:
    """The defaults for pages of PDF files and for image files, as upstream's two scripts have them."""
    return _BY_KIND[kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeOutput:
    """transcripts: one a page, in order. prefill_s, generate_s: wall seconds of the whole batch."""

    transcripts: list[Transcript]
    prefill_s: float
    generate_s: float


class Loaded(Protocol):
    """The part of ocr.checkpoint.LoadedModel that decoding needs."""

    @property
    def model(self) -> TextReader: ...
    @property
    def tokenizer(self) -> Tokenizer: ...
    @property
    def bos_id(self) -> int: ...
    @property
    def eos_id(self) -> int: ...


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
        _start(loaded, len(ids) + len(tokens.tokens_TD), limits, opinion)
        for tokens, limits, opinion in zip(vision, settings, opinions, strict=True)
    ]
    live_pages = [page for page in pages if page.budget > 0]
    prefilled = generated = started
    if live_pages:
        embed_tokens = loaded.model.language_model.get_input_embeddings()
        readable = [tokens.tokens_TD for tokens, page in zip(vision, pages, strict=True) if page.budget > 0]
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


@dataclass(slots=True, kw_only=True)
class _PageState:
    """One page being read. budget: the most tokens it may still write when it starts.

    leaders: tokens that are written where they are likeliest even if banned. The model goes on from the allowed
    token, or it would never end a row of dots; what it was to read there is a dot all the same.
    """

    budget: int
    ban: NgramBan
    leaders: frozenset[int]
    loops: LoopDetector
    length: LengthControl
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish: Finish = "length"
    loop_period: int = 0

    def take(self, token: int, logprob: float, eos_id: int, written: tuple[int, float] | None = None) -> bool:
        """Record a chosen token; returns whether the page goes on. written: token and log probability in its place."""
        if math.isnan(logprob):
            raise DecodeError(
                "the language model's logits are not numbers: the weights are damaged, or the number format "
                "overflows; read with fp32 or bf16, or fetch the model again"
            )
        if token == eos_id:
            self.finish = "eos"
            return False
        self.ban.push(token)
        token, logprob = written or (token, logprob)
        self.tokens.append(token)
        self.logprobs.append(logprob)
        self.loop_period = self.loops.period(self.tokens) or 0
        if self.loop_period or self.loops.is_monotonous(self.tokens) or self.length.is_over(self.tokens):
            self.finish = "loop"
            return False
        return len(self.tokens) < self.budget

    def transcript(self, tokenizer: Tokenizer) -> Transcript:
        kept = list(trim_tail(self.tokens, self.loop_period) if self.loop_period else self.tokens)
        if (end := self.length.refused_end(kept)) is not None:
            kept, self.finish = kept[:end], "eos"
        return Transcript(
            raw=tokenizer.decode(kept, skip_special_tokens=False),
            token_ids=tuple(self.tokens),
            finish=self.finish,
            logprobs=tuple(self.logprobs[: len(kept)]),
        )


def _start(
    loaded: Loaded, prompt_tokens: int, limits: DecodeSettings, opinion: SecondOpinion | None
) -> _PageState:
    positions = int(loaded.model.language_model.config.max_position_embeddings)
    # What a model without a character head writes stays as published.
    leaders = () if opinion is None else LEADERS
    return _PageState(
        budget=min(limits.max_tokens, positions) - prompt_tokens,
        ban=NgramBan(
            size=limits.ngram_size,
            window=limits.ngram_window,
            allowed=_ids(loaded.tokenizer, ALLOWED_REPEATS),
        ),
        leaders=_ids(loaded.tokenizer, leaders),
        loops=LoopDetector(
            min_tokens=limits.loop_tokens,
            min_repeats=limits.loop_repeats,
            max_period=limits.loop_period,
            min_variety=limits.loop_variety,
        ),
        length=LengthControl(
            loaded.tokenizer, opinion, min_share=limits.min_share, max_share=limits.max_share
        ),
    )


def _ids(tokenizer: Tokenizer, names: Sequence[str]) -> frozenset[int]:
    """Those of the names that are tokens."""
    return frozenset(token for token in map(tokenizer.token_to_id, names) if token is not None)


def _leaders_in_place(
    batch: LiveBatch, pages: Sequence[_PageState], banned: Sequence[set[int]]
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


def _generate(batch: LiveBatch, pages: Sequence[_PageState], eos_id: int) -> None:
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
