"""A page in its slot: its sequence, its draft and its next token."""

from dataclasses import dataclass, field

import torch
from tokenizers import Tokenizer

from ocr.decoding.cpu.draft_length import Pace
from ocr.decoding.cpu.verify import verify
from ocr.decoding.requests import PageRead
from ocr.decoding.sequence.greedy import likeliest
from ocr.decoding.sequence.page_reading import PageReading
from ocr.speculative.draft import Draft


@dataclass(slots=True, kw_only=True, eq=False)
class Row:
    """A page in its slot.

    prompt_LD: embeddings, emptied by the prefill. most_tokens: how long the row may become, prompt included.
    drafted: the tokens fed after next_token in the last step. next_token: chosen but not fed yet; None when the page
    is finished.
    """

    index: int
    page: PageReading
    prompt_LD: torch.Tensor
    draft: Draft | None
    pace: Pace
    most_tokens: int
    drafted: list[int] = field(default_factory=list)
    next_token: int | None = None
    num_steps: int = 0
    prefill_s: float = 0.0
    generate_s: float = 0.0

    def feed(self, num_ids: int) -> list[int]:
        """Returns the chosen token and drafted ones: no more than may still be written, and only valid token ids."""
        assert self.next_token is not None
        self.drafted = []
        limit = 0 if self.draft is None else min(self.pace.limit(), self._left - 1)
        if self.draft is not None and limit > 0:
            proposed = self.draft.propose(self.page.tokens, limit)[:limit]
            bad = next((n for n, token in enumerate(proposed) if not 0 <= token < num_ids), limit)
            self.drafted = proposed[:bad]
        return [self.next_token, *self.drafted]

    @property
    def _left(self) -> int:
        return self.page.budget - len(self.page.tokens)

    def read(self, tokenizer: Tokenizer) -> PageRead:
        """Returns the finished page."""
        return PageRead(
            index=self.index,
            transcript=self.page.transcript(tokenizer),
            num_steps=self.num_steps,
            prefill_s=self.prefill_s,
            generate_s=self.generate_s,
        )


def verify_rows(rows: list[Row], logits_NV: torch.Tensor, eos_id: int) -> list[int]:
    """Appends the verified tokens to each row and returns how many positions of each were used.

    logits_NV: those of all positions, row by row.
    """
    best, logprobs = likeliest(logits_NV)
    used, start = [], 0
    for row in rows:
        part = slice(start, start := start + len(row.drafted) + 1)
        count, row.next_token = verify(
            row.page, row.drafted, best[part], logprobs[part], logits_NV[part], eos_id
        )
        row.pace.record(len(row.drafted), count - 1)
        used.append(count)
    return used
