"""Defines drafts. Torch-free."""

from collections.abc import Sequence
from typing import Protocol


class Draft(Protocol):
    """Guesses how one page's text goes on, from something cheaper than the model.

    A wrong guess costs time, never a token: every proposed token is verified (ocr.decoding.cpu.verify).
    """

    def propose(self, tokens: Sequence[int], limit: int) -> list[int]:
        """Returns up to limit tokens that are likely to follow the page's text; [] without a guess.

        tokens: all tokens written for the page. limit: at least 1. Called after every step, so it must be quick.
        """
