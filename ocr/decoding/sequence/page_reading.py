"""A sequence on the host: the tokens that one page has written, those that may come next (no n-gram twice in
a sliding window), and where to stop.
"""

import math
import sys
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import torch
from tokenizers import Tokenizer
from torch import Tensor

from ocr.decoding.sequence.loops import CHECK_EVERY, LoopDetector, trim_tail
from ocr.types import Finish, Transcript

_NONE: frozenset[int] = frozenset()


class NgramBan:
    """Finds the tokens that may not come next, at hardly any cost in text that does not repeat itself.

    An n-gram that lies wholly inside the last `window` generated tokens is not written again: where the
    last n-1 tokens equal its first n-1, its last token is banned. The prompt is never searched and
    allowed tokens (a table's `<td>`, `</td>`) are never banned. size 0 switches the ban off.

    A token that does not occur in the window before it is part of no repetition, so nothing is banned for the n-1
    tokens from it on: with fewer tokens than calm_until there is nothing to search.

    Source: deepseek-ai/DeepSeek-OCR, process/ngram_norepeat.py, the same bans.
    """

    def __init__(self, *, size: int, window: int, allowed: frozenset[int] = frozenset()) -> None:
        assert size == 0 or size >= 2, "an n-gram has at least two tokens; 0 switches the ban off"
        self._size = size
        # The greatest distance between an n-gram and its repetition, in tokens.
        self._reach = window - size + 1
        self._allowed = allowed
        self._checked = 0
        self.tokens: list[int] = []
        self.calm_until = size if size and self._reach > 0 else sys.maxsize

    def push(self, token: int) -> None:
        """Records a generated token."""
        self.tokens.append(token)

    def banned(self) -> Set[int]:
        """Returns the token ids that may not come next."""
        if len(self.tokens) < self.calm_until or self.is_calm():
            return _NONE
        return self._followers() - self._allowed

    def is_calm(self) -> bool:
        """Finds the last token that is new in its window, updates calm_until, and returns whether nothing is banned."""
        tokens, reach = self.tokens, self._reach
        count = len(tokens)
        if reach <= 0 or not self._size:
            return True
        for place in range(count - 1, self._checked - 1, -1):
            if tokens[place] not in tokens[max(0, place - reach) : place]:
                self.calm_until = place + self._size
                break
        self._checked = count
        return count < self.calm_until

    def _followers(self) -> set[int]:
        """Returns the tokens that followed earlier occurrences of the last n-1 tokens in the window."""
        tokens, length = self.tokens, self._size - 1
        start = len(tokens) - length
        prefix, first, last = tokens[start:], tokens[start], tokens[-1]
        return {
            tokens[place + length]
            for place in range(max(0, start - self._reach), start)
            if tokens[place] == first
            and tokens[place + length - 1] == last
            and tokens[place : place + length] == prefix
        }


ALLOWED_REPEATS = ("<td>", "</td>")
_PLACES = 1 << 20  # more than a page has tokens


class DecodeError(RuntimeError):
    """The model's output cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeSettings:
    """Limits of one page's reading.

    max_tokens: prompt (vision tokens included) and output together; capped at the model's number of positions.
    ngram_size, ngram_window: the no-repeat n-gram (ocr.decoding.sequence.page_reading); size 0 switches it off.
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


class Loaded(Protocol):
    """The part of ocr.checkpoints.checkpoint.LoadedModel that decoding needs."""

    @property
    def model(self) -> Any:
        """ocr.model.deepseek_ocr.OcrModel, or what has its language_model and lm_head, [D] -> [V]."""

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
        if len(self.tokens) % CHECK_EVERY == 0:
            self.loop_period = self.loops.period(self.tokens) or 0
            if self.loop_period or self.loops.is_monotonous(self.tokens):
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
