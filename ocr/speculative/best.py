"""Several drafts of one page: each step the one that guessed best of late proposes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ocr.speculative.draft import Draft

_KEPT = 0.8  # of what a draft was worth, when it is tried again
_DRIFT = 0.03  # towards what it was thought to be worth, each step it is not tried


@dataclass(slots=True, kw_only=True)
class Candidate:
    """make: builds the draft when it is first needed. worth: how many of its tokens are taken a step, as a rule."""

    make: Callable[[], Draft]
    worth: float
    recent: float = field(init=False)
    draft: Draft | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.recent = self.worth

    def propose(self, tokens: Sequence[int], limit: int) -> list[int]:
        if self.draft is None:
            self.draft = self.make()
        return self.draft.propose(tokens, limit)


class BestDraft:
    """Asks the candidates in the order of what they were worth of late, until one has an idea."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = list(candidates)
        self._tried: Candidate | None = None
        self._proposed: list[int] = []
        self._written = 0

    def propose(self, tokens: Sequence[int], limit: int) -> list[int]:
        """See ocr.speculative.draft.Draft."""
        self._learn(tokens)
        for candidate in sorted(self._candidates, key=lambda other: -other.recent):
            if proposed := candidate.propose(tokens, limit):
                self._tried, self._proposed, self._written = candidate, proposed, len(tokens)
                return proposed
        self._tried = None
        return []

    def _learn(self, tokens: Sequence[int]) -> None:
        if self._tried is not None and len(tokens) > self._written:
            taken = 0
            for proposed, written in zip(self._proposed, tokens[self._written :], strict=False):
                if proposed != written:
                    break
                taken += 1
            # What was taken whole might have been taken further.
            missed = taken < len(self._proposed)
            recent = _KEPT * self._tried.recent + (1 - _KEPT) * taken
            self._tried.recent = recent if missed else max(recent, self._tried.recent)
        for candidate in self._candidates:
            if candidate is not self._tried:
                candidate.recent += _DRIFT * (candidate.worth - candidate.recent)
