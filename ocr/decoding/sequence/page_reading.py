"""A sequence on the host: the tokens that one page has written, those that may come next, and where to stop."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import torch
from tokenizers import Tokenizer
from torch import Tensor

from ocr.decoding.sequence.loops import CHECK_EVERY, LoopDetector, trim_tail
from ocr.decoding.sequence.ngram import NgramBan
from ocr.types import Finish, Transcript

ALLOWED_REPEATS = ("<td>", "</td>")
_PLACES = 1 << 20  # more than a page has tokens


class DecodeError(RuntimeError):
    """The model's output cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeSettings:
    """Limits of one page's reading.

    max_tokens: prompt (vision tokens included) and output together; capped at the model's number of positions.
    ngram_size, ngram_window: the no-repeat n-gram (ocr.decoding.sequence.ngram); size 0 switches it off.
    loop_tokens, loop_repeats, loop_period: what counts as a loop (ocr.decoding.sequence.loops: min_tokens, min_repeats,
        max_period); loop_tokens 0 switches it off. loop_variety: min_variety there.
    temperature: of sampling; 0 always takes the likeliest token. seed: of sampling, from 0.
    """

    max_tokens: int = 8192
    ngram_size: int = 20
    ngram_window: int = 50
    loop_tokens: int = 768
    loop_repeats: int = 4
    loop_period: int = 1024
    loop_variety: float = 0.05
    temperature: float = 0.0
    seed: int = 0


_BY_KIND = {
    "pdf": DecodeSettings(ngram_size=20, ngram_window=50),
    "image": DecodeSettings(ngram_size=30, ngram_window=90),
}


def settings_for(kind: Literal["pdf", "image"]) -> DecodeSettings:
    """Returns the defaults for pages of PDF files or for image files, as upstream's two scripts have them."""
    return _BY_KIND[kind]


class TextReader(Protocol):
    """The part of ocr.model.deepseek_ocr.OcrModel that decoding needs."""

    @property
    def language_model(self) -> Any:
        """The decoder, transformers' UnlimitedOcrTextModel."""

    @property
    def lm_head(self) -> Any:
        """The projection to logits, [D] -> [V]."""


class Loaded(Protocol):
    """The part of ocr.checkpoints.checkpoint.LoadedModel that decoding needs."""

    @property
    def model(self) -> TextReader:
        """The language model and its output head."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer."""

    @property
    def bos_id(self) -> int:
        """The id of the token that begins a prompt."""

    @property
    def eos_id(self) -> int:
        """The id of the token that ends a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """Samples by adding noise to the logits. temperature: above 0. seed: from 0.

    The likeliest token of logits + temperature * Gumbel noise is a draw from softmax(logits / temperature) (the
    Gumbel-max trick; Maddison et al. 2014, A* Sampling). The noise at a position depends on the seed and the position
    alone, so that the output depends neither on the engine nor on the pages read at the same time.
    """

    temperature: float
    seed: int

    def noise(self, place: int, vocab_size: int) -> torch.Tensor:
        """Returns the noise for the token at this position of a page's output, from 0: fp32 [V] on the CPU."""
        generator = torch.Generator().manual_seed(self.seed * _PLACES + place)
        uniform = torch.rand(vocab_size, generator=generator)
        # rand() may return 0, whose noise is -inf: that token is never drawn.
        return -self.temperature * torch.log(-torch.log(uniform))


@dataclass(slots=True, kw_only=True)
class PageReading:
    """The sequence of one page while it is read.

    budget: the most tokens that it may write. tokens: the ban's own list.
    """

    budget: int
    ban: NgramBan
    loops: LoopDetector
    sampler: Sampler | None = None
    tokens: list[int] = field(init=False)
    logprobs: list[float] = field(default_factory=list)
    finish: Finish = "length"
    loop_period: int = 0

    def __post_init__(self) -> None:
        self.tokens = self.ban.tokens

    def take(self, token: int, logprob: float, eos_id: int) -> bool:
        """Records a chosen token and returns whether the page goes on.

        Raises: DecodeError when logprob is not a number.
        """
        if math.isnan(logprob):
            raise DecodeError(
                "the language model's logits are not numbers: the weights are damaged, or the number format "
                "overflows; read with fp32 or bf16, or fetch the model again"
            )
        if token == eos_id:
            self.finish = "eos"
            return False
        self.ban.push(token)
        self.logprobs.append(logprob)
        if len(self.tokens) % CHECK_EVERY == 0 and self._is_endless():
            self.finish = "loop"
            return False
        return len(self.tokens) < self.budget

    def calm_until(self) -> int:
        """Returns the number of tokens up to which none is banned and take() checks for nothing but the end.

        Until then a token may be appended to tokens and logprobs as it is; 0 where each is sampled.
        """
        if self.sampler is not None:
            return 0
        self.ban.is_calm()
        count = len(self.tokens)
        return min(self.ban.calm_until, count - count % CHECK_EVERY + CHECK_EVERY - 1, self.budget - 1)

    def _is_endless(self) -> bool:
        self.loop_period = self.loops.period(self.tokens) or 0
        return bool(self.loop_period or self.loops.is_monotonous(self.tokens))

    def noise(self, vocab_size: int) -> Tensor | None:
        """Returns the noise to add to the next token's logits before one is chosen, fp32 [V].

        None in greedy decoding.
        """
        return None if self.sampler is None else self.sampler.noise(len(self.tokens), vocab_size)

    def transcript(self, tokenizer: Tokenizer) -> Transcript:
        """Returns the page's transcript, without a loop at its end."""
        kept = list(trim_tail(self.tokens, self.loop_period) if self.loop_period else self.tokens)
        return Transcript(
            raw=tokenizer.decode(kept, skip_special_tokens=False),
            token_ids=tuple(self.tokens),
            finish=self.finish,
            logprobs=tuple(self.logprobs[: len(kept)]),
        )


def start_reading(loaded: Loaded, prompt_tokens: int, limits: DecodeSettings) -> PageReading:
    """Returns the empty sequence of a page whose prompt has this many tokens, under these limits."""
    positions = int(loaded.model.language_model.config.max_position_embeddings)
    return begin_reading(loaded.tokenizer, positions, prompt_tokens, limits)


def begin_reading(
    tokenizer: Tokenizer,
    positions: int,
    prompt_tokens: int,
    limits: DecodeSettings,
) -> PageReading:
    """Returns the empty sequence of a page. positions: the most tokens that the model takes, prompt included."""
    return PageReading(
        budget=min(limits.max_tokens, positions) - prompt_tokens,
        ban=NgramBan(
            size=limits.ngram_size,
            window=limits.ngram_window,
            allowed=_ids(tokenizer, ALLOWED_REPEATS),
        ),
        loops=LoopDetector(
            min_tokens=limits.loop_tokens,
            min_repeats=limits.loop_repeats,
            max_period=limits.loop_period,
            min_variety=limits.loop_variety,
        ),
        sampler=Sampler(temperature=limits.temperature, seed=limits.seed) if limits.temperature > 0 else None,
    )


def _ids(tokenizer: Tokenizer, names: Sequence[str]) -> frozenset[int]:
    """Returns the ids of those names that are tokens."""
    return frozenset(token for token in map(tokenizer.token_to_id, names) if token is not None)
