"""Decides when pages' drafts are asked for tokens, and learns from how many of them were accepted.

While steps run without drafts, guesses are compared with the text written later, so that finding out whether drafts
pay costs the device nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ocr.decoding.gpu.forward.step_costs import (
    MOST_STEP_TOKENS,
    MOST_TOKENS,
    STEP_TOKENS,
    Hits,
    StepCosts,
    best_step,
)
from ocr.decoding.gpu.schedule.entries import Page

_GUESSED = 8  # tokens of a guess that is only compared with the text written later
_GUESS_EVERY = 16
_POOR = 0.1  # a draft that is right less often is asked only in every 16th step
_MOST_GUESS_EVERY = 64
# Tokens that guesses come further apart for each page being read: together they learn as much.
_PER_PAGE = 0.25
_DECIDED_FOR = 8  # steps without drafts before the next decision; the guesses of a page come no closer


@dataclass(slots=True)
class Guess:
    """A draft to compare. tokens: proposed after the first `start` of a page; compared once it has `due` tokens."""

    start: int
    tokens: list[int]
    due: int


class Drafting:
    """Proposes drafts for pages, and chooses the length of steps.

    num_ids: of the model; token ids that a draft proposes beyond them are left out.
    step_tokens: None feeds as many tokens a row as pay, 1 switches drafts off, any other number is what each step
    feeds.
    """

    def __init__(self, num_ids: int, step_tokens: int | None = None) -> None:
        self._num_ids = num_ids
        self._fixed = step_tokens
        self._all = Hits()
        self.costs = StepCosts()
        self._guesses: dict[Page, Guess] = {}
        self._decided_for = 0

    def step_tokens(self, pages: Sequence[Page], rows: int, *, drafting: bool) -> int:
        """Returns how many tokens the next step feeds to each page, 1 without drafts. rows: of its graph."""
        if not drafting and self._decided_for:
            self._decided_for -= 1
            return 1
        drafted = [page.hits for page in pages if page.draft is not None]
        most = min(MOST_STEP_TOKENS, MOST_TOKENS // rows)
        if not drafted or most < STEP_TOKENS[0]:
            return 1
        if self._fixed is not None:
            return min(self._fixed, most)
        found = best_step(drafted, len(pages), self.costs, most=most, drafting=drafting)
        self._decided_for = _DECIDED_FOR - 1 if found == 1 else 0
        return found

    def switch_off(self) -> None:
        """Leaves drafts unused from now on."""
        self._fixed = 1

    def begin(self, page: Page) -> None:
        """Prepares a page that is read for the first time."""
        page.hits = self._all.like()

    def propose(self, page: Page, limit: int) -> list[int]:
        """Returns up to limit tokens to follow the page's text, no more than it may write."""
        limit = min(limit, page.reading.budget - len(page.reading.tokens) - 1)
        poor = self._fixed is None and page.hits.chance < _POOR
        if page.draft is None or limit <= 0 or (poor and page.num_steps % _GUESS_EVERY):
            return []
        self._guesses.pop(page, None)
        proposed = page.draft.propose(page.reading.tokens, limit)[:limit]
        bad = next((place for place, token in enumerate(proposed) if not 0 <= token < self._num_ids), limit)
        if not proposed:
            self.learn(page, 0, 0)
        return proposed[:bad]

    def learn(self, page: Page, drafted: int, accepted: int) -> None:
        """Records how many of a page's drafted tokens were accepted."""
        page.hits.record(drafted, accepted)
        self._all.record(drafted, accepted)

    def follow(self, page: Page) -> int:
        """Makes and compares guesses for a page that is written without drafts.

        Returns the number of tokens at which the page needs this again.
        """
        guess = self._guesses.get(page)
        written = page.reading.tokens
        if guess is not None and len(written) < guess.due:
            return guess.due
        if guess is not None and guess.tokens:
            accepted = 0
            while accepted < len(guess.tokens) and guess.tokens[accepted] == page.fed[guess.start + accepted]:
                accepted += 1
            self.learn(page, len(guess.tokens), accepted)
            due = len(written) + self._guess_every(page) - len(guess.tokens)
            self._guesses[page] = Guess(len(written), [], due)
            return due
        assert page.draft is not None
        proposed = page.draft.propose(written, _GUESSED)[:_GUESSED]
        if not proposed:
            self.learn(page, 0, 0)
        due = len(written) + (len(proposed) or self._guess_every(page))
        self._guesses[page] = Guess(len(written), proposed, due)
        return due

    def _guess_every(self, page: Page) -> int:
        if page.hits.chance < _POOR:
            return _MOST_GUESS_EVERY
        return min(max(_GUESS_EVERY, int(_PER_PAGE * len(self._guesses))), _MOST_GUESS_EVERY)

    def forget(self, page: Page) -> None:
        """Drops the guess of a page that ended."""
        self._guesses.pop(page, None)

    def forget_all(self) -> None:
        """Drops all guesses and the decision on drafts."""
        self._decided_for = 0
        self._guesses.clear()


def smallest_step(tokens: int) -> int:
    """Returns the size of the smallest step with drafts that takes this many tokens a row."""
    return next(size for size in STEP_TOKENS if size >= tokens)
