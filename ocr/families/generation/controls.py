"""Lets pages' sequences decide within transformers' generate: what may come next, and where a text ends."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor, StoppingCriteria

from ocr.decoding.sequence.page_reading import PageReading

_NO_END = -1


class Controls:
    """What pages that are generated together share. Shapes: B pages, L tokens so far, V vocabulary.

    eos_ids: tokens that end a text. check: called before each token; it may raise to break off. started_s, first_s:
    time.perf_counter() when generating began and when the first token was chosen.
    """

    def __init__(
        self, pages: Sequence[PageReading], eos_ids: frozenset[int], check: Callable[[], None] | None
    ) -> None:
        self.pages = pages
        self.eos_ids = eos_ids
        self.num_steps = [0] * len(pages)
        self.started_s = time.perf_counter()
        self.first_s: float | None = None
        self._check = check
        self._going = [True] * len(pages)
        self._logprobs_BV = torch.empty(0)

    def choose_from(self, scores_BV: Tensor) -> Tensor:
        """Returns the scores that the next tokens are chosen by: banned ones never, with noise where pages sample."""
        if self._check is not None:
            self._check()
        if self.first_s is None:
            self.first_s = time.perf_counter()
        scores_BV = scores_BV.float()
        self._logprobs_BV = scores_BV.log_softmax(-1)
        for row, page in enumerate(self.pages):
            banned = page.ban.banned() if self._going[row] else ()
            noise_V = page.noise(scores_BV.shape[-1]) if self._going[row] else None
            if noise_V is not None:
                scores_BV[row] += noise_V.to(scores_BV.device)
            if banned:
                scores_BV[row, list(banned)] = float("-inf")
        return scores_BV

    def take(self, tokens: Tensor) -> Tensor:
        """Records the tokens chosen, [B], and returns which pages end with them, [B] bool.

        Raises: DecodeError where logits are not numbers.
        """
        logprobs = self._logprobs_BV.gather(1, tokens[:, None].to(self._logprobs_BV.device))[:, 0].tolist()
        for row, (token, logprob) in enumerate(zip(tokens.tolist(), logprobs, strict=True)):
            if self._going[row]:
                self.num_steps[row] += 1
                end = token if token in self.eos_ids else _NO_END
                self._going[row] = self.pages[row].take(token, logprob, end)
        return torch.tensor([not going for going in self._going], device=tokens.device)

    @property
    def logits_processor(self) -> LogitsProcessor:
        return _Choosing(self)

    @property
    def stopping_criteria(self) -> StoppingCriteria:
        return _Ending(self)


class _Choosing(LogitsProcessor):  # type: ignore[misc]
    def __init__(self, controls: Controls) -> None:
        self._controls = controls

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        return self._controls.choose_from(scores)


class _Ending(StoppingCriteria):  # type: ignore[misc]
    def __init__(self, controls: Controls) -> None:
        self._controls = controls

    def __call__(self, input_ids: Tensor, scores: Any, **kwargs: Any) -> Tensor:
        return self._controls.take(input_ids[:, -1])
