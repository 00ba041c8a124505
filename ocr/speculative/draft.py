"""What a draft is. Torch-free."""

from collections.abc import Sequence
from typing import Protocol


class Draft(Protocol):
    """Guesses one page's further text from something cheaper than the model.

    A wrong guess costs time, never a token: every proposed token is verified (ocr.decoding.cpu.verify).
    """

    def propose(self, tokens: Sequence[int], limit: int) -> list[int]:
        """Up to limit tokens likely to follow what was written so far; [] without an idea.

        tokens: all that was written for the page. limit: at least 1. Called after every step: quick.
        """
