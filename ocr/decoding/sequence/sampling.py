"""Samples with a temperature by adding noise to the logits: the likeliest token of logits + temperature * Gumbel
noise is a draw from softmax(logits / temperature) (the Gumbel-max trick; Maddison et al. 2014, A* Sampling).

The noise at a position depends on the seed and the position alone, so that the output depends neither on the engine
nor on the pages read at the same time.
"""

from dataclasses import dataclass

import torch

_PLACES = 1 << 20  # more than a page has tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """Makes the noise of one page. temperature: above 0. seed: from 0."""

    temperature: float
    seed: int

    def noise(self, place: int, vocab_size: int) -> torch.Tensor:
        """Returns the noise for the token at this position of a page's output, from 0: fp32 [V] on the CPU."""
        generator = torch.Generator().manual_seed(self.seed * _PLACES + place)
        uniform = torch.rand(vocab_size, generator=generator)
        # rand() may return 0, whose noise is -inf: that token is never drawn.
        return -self.temperature * torch.log(-torch.log(uniform))
