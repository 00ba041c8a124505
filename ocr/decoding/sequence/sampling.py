"""Sampling with a temperature, as noise on the logits: the likeliest token of softmax(logits / temperature) + Gumbel
noise is a draw from it (the Gumbel-max trick; Maddison et al. 2014, A* Sampling).

The noise of a place depends on the seed and the place alone, so that what is written depends neither on the engine nor
on what is read beside it, and drafts are verified as in greedy decoding.
"""

from dataclasses import dataclass

import torch

_PLACES = 1 << 20  # more than a page has tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """temperature: above 0. seed: from 0."""

    temperature: float
    seed: int

    def noise(self, place: int, vocab_size: int) -> torch.Tensor:
        """fp32 [V] on the CPU, to be added to the logits of the place-th token that a page writes."""
        generator = torch.Generator().manual_seed(self.seed * _PLACES + place)
        uniform = torch.rand(vocab_size, generator=generator)
        # rand() may give 0, whose noise is -inf: a token that is not drawn.
        return -self.temperature * torch.log(-torch.log(uniform))
