"""Explains why bf16 readings differ: rounding moves the gap between the two likeliest tokens.

Numbers in bf16 have 8 bits of precision, and products of other batch shapes are summed in another order. If the two
likeliest tokens are closer in fp32, with the same weights and the same page, than rounding moves their gap, either may
come first; from there on the texts are two different greedy readings.

Shapes: T tokens chosen, V vocabulary.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ocr.decoding.requests import PageRequest
from tests.benchmarks.tokens.generate_reference import GenerateReference, Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class PageGaps:
    """The choices of one page, each fp32 [T]. rounded_T: the gap in the reference; exact_T: in fp32.

    logits_TV: fp32.
    """

    rounded_T: Tensor
    exact_T: Tensor
    logits_TV: Tensor

    @property
    def moved(self) -> Tensor:
        """Returns how far rounding moved each gap."""
        return (self.rounded_T - self.exact_T).abs()

    def between(self, position: int, token: int | None, other: int | None) -> float | None:
        """Returns how much likelier a token is than another in fp32; None if one of them is None."""
        if token is None or other is None or position >= len(self.logits_TV):
            return None
        return float(self.logits_TV[position, token] - self.logits_TV[position, other])


def measure(precise: GenerateReference, request: PageRequest, read: Reference) -> PageGaps:
    """Returns the gaps of a page. precise: in fp32, with the reference's weights."""
    logits_TV = precise.logits(request, read.chosen).cpu()
    pairs_T2 = torch.tensor([read.chosen, read.seconds]).T
    exact_T2 = logits_TV.gather(1, pairs_T2)
    return PageGaps(
        rounded_T=torch.tensor(read.gaps), exact_T=exact_T2[:, 0] - exact_T2[:, 1], logits_TV=logits_TV
    )


def rounding_lines(pages: Sequence[PageGaps]) -> Iterator[str]:
    """Yields lines on rounding's effect on all pages, and on how many choices it can change."""
    moved = torch.cat([page.moved for page in pages])
    exact = torch.cat([page.exact_T for page in pages])
    usual, much = (float(moved.quantile(share)) for share in (0.5, 0.99))
    yield (
        f"rounding moves the gap of the two likeliest tokens by {usual:.3f} (median), {much:.3f} (99%), "
        f"{float(moved.max()):.3f} (most), over {len(moved)} choices"
    )
    for limit in (usual, much):
        yield f"choices whose gap in fp32 is under {limit:.3f}: {int((exact.abs() < limit).sum())}"
    yield f"choices that fp32 would make otherwise, after the same text: {int((exact < 0).sum())}"
