from collections.abc import Sequence
from dataclasses import dataclass, field

from ocr.speculative.best import BestDraft, Candidate


@dataclass
class Says:
    tokens: list[int]
    asked: int = field(default=0)

    def propose(self, tokens: Sequence[int], limit: int) -> list[int]:
        self.asked += 1
        return self.tokens[:limit]


def candidate(draft: Says, worth: float) -> Candidate:
    return Candidate(make=lambda: draft, worth=worth)


def test_the_better_one_is_asked_first_and_the_other_only_where_it_is_silent():
    good, other = Says([1, 2]), Says([3])
    draft = BestDraft([candidate(other, 2.0), candidate(good, 9.0)])
    assert draft.propose([], 16) == [1, 2]
    assert other.asked == 0
    good.tokens = []
    assert draft.propose([1, 2, 5], 16) == [3]


def test_one_that_guesses_badly_gives_way_and_comes_back():
    first, second = Says([1]), Says([2, 2, 2])
    draft = BestDraft([candidate(first, 9.0), candidate(second, 3.0)])
    written: list[int] = []
    said = []
    for _ in range(12):
        proposed = draft.propose(written, 16)
        said.append(proposed[0])
        written += [2, 2, 2, 7] if proposed == [2, 2, 2] else [2]
    assert said[:2] == [1, 1]
    assert said[-1] == 2
    second.tokens = []
    assert draft.propose(written, 16) == [1]


def test_none_has_an_idea():
    assert BestDraft([candidate(Says([]), 1.0)]).propose([1], 16) == []
    assert BestDraft([]).propose([], 16) == []
