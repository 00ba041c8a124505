"""Estimates whether drafts pay, and how many tokens a step then feeds to each row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Tokens that a step with drafts feeds to every row; each number has graphs of its own.
STEP_TOKENS = (4, 8, 16)
MOST_STEP_TOKENS = 16
# Tokens of one step, all rows together: logits of this many are in memory at once.
MOST_TOKENS = 2048
_MEMORY = 0.9
_LEARNT, _FORGOTTEN = 0.1, 0.002
_SWITCH = 1.1  # drafts must look this much better before they are used


@dataclass(slots=True)
class Hits:
    """The hit rate of one page's draft, over its last ten proposals or so.

    chance: the probability that a proposed token is right, given that those before it were. ideas: the share of steps
    in which the draft proposed anything.
    """

    right: float = 0.2
    wrong: float = 0.8
    ideas: float = 1.0

    @property
    def chance(self) -> float:
        """The probability that a proposed token is right, given that those before it were; at most 0.995."""
        return min(self.right / (self.right + self.wrong), 0.995)

    def record(self, drafted: int, accepted: int) -> None:
        """Records how many of a proposal's tokens were accepted; drafted is 0 where nothing was proposed."""
        self.ideas += (1 - _MEMORY) * ((drafted > 0) - self.ideas)
        if drafted:
            self.right = _MEMORY * self.right + accepted
            self.wrong = _MEMORY * self.wrong + (accepted < drafted)

    def like(self) -> "Hits":
        """Returns the start for a further page: the same chance, with so little weight that it is soon overruled."""
        return Hits(right=self.chance, wrong=1 - self.chance)


def step_cost(tokens: int, rows: int) -> float:
    """Returns the expected cost of a step of this many tokens a row, as a multiple of one without drafts.

    The fixed part is the host, which must see a step's tokens before it drafts the next. A further token is nearly
    free as long as the time goes into reading weights, keys and values, less so with many rows: as measured
    with DeepSeek-OCR's language model at full size on an H200 (tests.benchmarks.decoding.decode_figures, draft_steps).
    """
    return 1.0 if tokens == 1 else 1.2 + (tokens - 1) * 0.18 * (min(rows, 256) / 256) ** 0.6


class StepCosts:
    """Costs of steps, corrected by measured ones: with a small model the host is the limit, not the device."""

    def __init__(self) -> None:
        self._plain: dict[int, float] = {}
        self._factors: dict[int, float] = {}  # by the binary digits of the number of rows

    def cost(self, tokens: int, rows: int) -> float:
        """Returns step_cost(), corrected by the steps measured so far."""
        factor = self._factors.get(rows.bit_length(), 1.0)
        return 1.0 if tokens == 1 else max(1.0, factor * step_cost(tokens, rows))

    def took(self, tokens: int, rows: int, seconds: float) -> None:
        """Records a step's seconds for each of its rows.

        Rows: the pages being read, in this step or in the other half.
        """
        size = rows.bit_length()
        factor = self._factors.get(size, 1.0)
        if tokens == 1:
            before = self._plain.get(size, seconds)
            self._plain[size] = before + _LEARNT * (min(seconds, 4 * before) - before)
            self._factors[size] = factor + _FORGOTTEN * (1.0 - factor)  # so that drafts are tried again
        elif size in self._plain:
            found = seconds / self._plain[size] / step_cost(tokens, rows)
            self._factors[size] = factor + _LEARNT * (min(max(found, 0.5), 8.0) - factor)


def best_step(hits: Sequence[Hits], rows: int, costs: StepCosts, *, most: int, drafting: bool) -> int:
    """Returns the tokens a row of the step that yields most, 1 where drafts do not pay.

    hits: one for each row with a draft, out of `rows` rows. most: the most tokens a row that a step may have.
    drafting: whether the last step had drafts.
    """
    if not hits:
        return 1
    chances = np.array([page.chance for page in hits])
    ideas = np.array([page.ideas for page in hits])
    best, best_rate = 1, 1.0 if drafting else _SWITCH
    for tokens in STEP_TOKENS:
        if tokens > most:
            break
        further = (1 - chances**tokens) / (1 - chances) - 1
        rate = (1 + float((further * ideas).sum()) / rows) / costs.cost(tokens, rows)
        if rate > best_rate:
            best, best_rate = tokens, rate
    return best
