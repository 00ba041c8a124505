"""Combines several drafts of one page: in each step the one that has lately guessed best proposes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ocr.speculative.draft import Draft

_KEPT = 0.8  # the weight of a draft's former worth when it is tried again
_DRIFT = 0.03  # the step towards a draft's initial worth for each step in which it is not tried


@dataclass(slots=True, kw_only=True)
class Candidate:
    """One draft of a page. make: builds it when it is first needed. worth: its tokens usually accepted a step."""

    make: Callable[[], Draft]
    worth: float
    recent: float = field(init=False)
    draft: Draft | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.recent = self.worth

    def propose(self, tokens: Sequence[int], limit: int) -> list[int]:
        """Returns its draft's proposal; builds the draft first if need be."""
        if self.draft is None:
            self.draft = self.make()
        return self.draft.propose(tokens, limit)


class BestDraft:
    """Asks the candidates in the order of their recent worth until one proposes something."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = list(candidates)
        self._tried: Candidate | None = None
        self._proposed: list[int] = []
        self._written = 0

    def propose(self, tokens: Sequence[int], limit: int) -> list[int]:
        """Returns the first proposal of a candidate (ocr.speculative.draft.Draft)."""
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
            # A proposal that was accepted whole might have been accepted further.
            missed = taken < len(self._proposed)
            recent = _KEPT * self._tried.recent + (1 - _KEPT) * taken
            self._tried.recent = recent if missed else max(recent, self._tried.recent)
        for candidate in self._candidates:
            if candidate is not self._tried:
                candidate.recent += _DRIFT * (candidate.worth - candidate.recent)
