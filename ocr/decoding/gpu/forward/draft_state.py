"""Holds the results that steps with drafts leave on the device."""

import torch

from ocr.decoding.gpu.forward.step_costs import MOST_STEP_TOKENS, MOST_TOKENS
from ocr.decoding.sequence.greedy import TextReader


class DraftState:
    """Results of the last two steps with drafts. T: rows times tokens a row.

    current_TD, previous_TD: the hidden states behind the logits of the last two such steps. results_T2, chosen_T: the
    last step's.
    """

    def __init__(self, model: TextReader, slots: int, device: torch.device) -> None:
        weight = model.lm_head.weight
        count = max(MOST_STEP_TOKENS, min(slots * MOST_STEP_TOKENS, MOST_TOKENS))
        self.current_TD, self.previous_TD = (
            torch.zeros(count, weight.shape[1], dtype=weight.dtype, device=device) for _ in range(2)
        )
        self.results_T2 = torch.zeros(count, 2, device=device)
        self.chosen_T = torch.zeros(count, dtype=torch.long, device=device)
        self.places = torch.arange(MOST_STEP_TOKENS, device=device)
        self.num_last = 0

    def keep_last(self) -> None:
        """Saves the last step's hidden states before the next one overwrites them."""
        self.previous_TD[: self.num_last].copy_(self.current_TD[: self.num_last])
