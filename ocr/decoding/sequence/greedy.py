"""Chooses tokens: for many positions at once, and for a single one where tokens are banned or sampled.

Shapes: N positions, V vocabulary.
"""

from collections.abc import Collection
from typing import Any, Protocol

import torch


class TextReader(Protocol):
    """The part of ocr.model.deepseek_ocr.OcrModel that decoding needs."""

    @property
    def language_model(self) -> Any:
        """The decoder, an ocr.model.text_model.UnlimitedOcrTextModel."""

    @property
    def lm_head(self) -> Any:
        """The projection to logits, [D] -> [V]."""


def likeliest(logits_NV: torch.Tensor) -> tuple[list[int], list[float]]:
    """Returns the likeliest token of each position and its log probability, in one synchronisation with the device."""
    best_N = logits_NV.argmax(-1)
    logprobs_N = logits_NV.gather(1, best_N[:, None])[:, 0] - logits_NV.logsumexp(-1)
    # Ids are exact in fp32 up to 2**24, far beyond any vocabulary, so both travel in one copy.
    ids, logprobs = torch.stack((best_N.float(), logprobs_N)).tolist()
    return [int(token) for token in ids], logprobs


def likeliest_without(
    logits_V: torch.Tensor, banned: Collection[int], noise_V: torch.Tensor | None = None
) -> tuple[int, float]:
    """Returns the likeliest token that is not banned, and its log probability before the bans and the noise.

    noise_V: added to the logits before the choice (ocr.decoding.sequence.sampling).
    """
    allowed_V = logits_V.clone() if noise_V is None else logits_V + noise_V.to(logits_V.device)
    allowed_V[list(banned)] = float("-inf")
    token = int(allowed_V.argmax())
    return token, float(logits_V[token] - logits_V.logsumexp(-1))
