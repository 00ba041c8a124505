"""Steps have drafts when these pay."""

import pytest

from ocr.decoding.gpu.forward.step_costs import Hits, StepCosts, best_step, step_cost


def after(drafted: int, accepted: int, times: int = 20) -> Hits:
    hits = Hits()
    for _ in range(times):
        hits.record(drafted, accepted)
    return hits


def test_a_page_nobody_knows_begins_without() -> None:
    assert best_step([Hits()] * 8, 8, StepCosts(), most=16, drafting=False) == 1


@pytest.mark.parametrize("rows", [1, 32, 256])
def test_the_better_the_draft_the_longer_the_step(rows: int) -> None:
    found = [
        best_step([after(15, accepted)] * rows, rows, StepCosts(), most=16, drafting=True)
        for accepted in range(16)
    ]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (1, 16)
    assert best_step([after(7, 7)] * rows, rows, StepCosts(), most=4, drafting=True) == 4


def test_pages_without_drafts_count() -> None:
    good = after(7, 7)
    assert best_step([good], 1, StepCosts(), most=16, drafting=False) == 16
    assert best_step([good], 64, StepCosts(), most=16, drafting=False) == 1
    assert best_step([], 64, StepCosts(), most=16, drafting=False) == 1


def test_a_draft_without_ideas_is_worth_nothing() -> None:
    silent = after(7, 7)
    for _ in range(60):
        silent.record(0, 0)
    assert silent.chance == after(7, 7).chance
    assert best_step([silent], 1, StepCosts(), most=16, drafting=True) == 1


def test_later_pages_begin_like_earlier_ones_and_are_soon_their_own() -> None:
    page = after(7, 7).like()
    assert page.chance > 0.9
    for _ in range(3):
        page.record(7, 0)
    assert page.chance < 0.3


def test_what_a_step_takes_grows_with_its_tokens() -> None:
    for rows in (1, 64, 256, 512):
        costs = [step_cost(tokens, rows) for tokens in (1, 4, 8, 16)]
        assert costs == sorted(costs)
        assert costs[0] == 1
        assert costs[-1] < 4


def test_drafts_that_take_longer_than_thought_are_left_and_tried_again() -> None:
    costs, hits = StepCosts(), [after(7, 3)] * 32
    assert best_step(hits, 32, costs, most=16, drafting=True) > 1
    for _ in range(40):
        costs.took(1, 32, 10e-6)
        costs.took(8, 32, 40e-6)
    assert costs.cost(8, 32) == pytest.approx(4.0, rel=0.2)
    assert costs.cost(1, 32) == 1.0
    assert best_step(hits, 32, costs, most=16, drafting=True) == 1
    assert best_step([after(15, 15)] * 32, 32, costs, most=16, drafting=True) == 16
    for _ in range(2000):
        costs.took(1, 32, 10e-6)
    assert best_step(hits, 32, costs, most=16, drafting=True) > 1


def test_steps_of_other_sizes_say_nothing() -> None:
    costs = StepCosts()
    costs.took(1, 2, 1e-3)
    before = costs.cost(8, 200)
    costs.took(8, 200, 4e-3)
    costs.took(8, 3, 4e-3)
    assert costs.cost(8, 200) == before
    assert costs.cost(8, 2) > step_cost(8, 2)
