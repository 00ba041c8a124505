import random

from ocr.decoding.cpu.draft_length import MOST_DRAFTED, Pace


def after(chance: float, steps: int = 100) -> tuple[Pace, int, int]:
    """A row whose drafted tokens are right with that chance; tokens drafted and accepted."""
    pace, rng = Pace(0.1), random.Random(0)
    drafted = accepted = 0
    for _ in range(steps):
        limit = pace.limit()
        right = next((n for n in range(limit) if rng.random() >= chance), limit)
        pace.record(limit, right)
        drafted, accepted = drafted + limit, accepted + right
    return pace, drafted, accepted


def test_a_perfect_draft_is_asked_for_all() -> None:
    pace, drafted, _ = after(1.0)
    assert pace.limit() == MOST_DRAFTED
    assert drafted > 0.8 * 100 * MOST_DRAFTED


def test_a_useless_draft_costs_little() -> None:
    """Drafting takes less than 2% of 400 steps' cost."""
    _, drafted, accepted = after(0.0, steps=400)
    assert accepted == 0
    assert drafted * 0.1 < 0.02 * 400


def test_the_better_the_draft_the_more_is_asked_for() -> None:
    asked = [after(chance, steps=300)[1] for chance in (0.0, 0.3, 0.6, 0.9, 0.98)]
    assert asked == sorted(asked)
    assert 300 < asked[2] < 5 * 300


def test_a_draft_that_finds_its_way_is_asked_again() -> None:
    pace, _, _ = after(0.0, steps=200)
    for _ in range(200):
        limit = pace.limit()
        pace.record(limit, limit)
    assert pace.limit() > 16
