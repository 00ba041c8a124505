from hypothesis import given
from hypothesis import strategies as st

from ocr.decoding.sequence.loops import LoopDetector, find_period, trim_tail, variety


def scan(tokens: list[int], min_tokens: int, min_repeats: int, max_period: int) -> int | None:
    """The definition, token by token."""
    for period in range(1, max_period + 1):
        span = max(min_tokens, min_repeats * period)
        if span <= len(tokens):
            tail = tokens[len(tokens) - span :]
            if all(tail[i] == tail[i - period] for i in range(period, span)):
                return period
    return None


tails = st.tuples(
    st.lists(st.integers(0, 2), max_size=20),
    st.lists(st.integers(0, 2), min_size=1, max_size=6),
    st.integers(1, 8),
).map(lambda parts: parts[0] + parts[1] * parts[2])


@given(
    tokens=tails,
    min_tokens=st.integers(1, 12),
    min_repeats=st.integers(2, 4),
    max_period=st.integers(1, 8),
)
def test_period_is_the_definitions(
    tokens: list[int], min_tokens: int, min_repeats: int, max_period: int
) -> None:
    found = find_period(tokens, min_tokens=min_tokens, min_repeats=min_repeats, max_period=max_period)
    assert found == scan(tokens, min_tokens, min_repeats, max_period)


@given(head=st.lists(st.integers(3, 9), max_size=9), repeats=st.integers(2, 6), cut=st.integers(0, 2))
def test_trimming_leaves_head_and_one_occurrence(head: list[int], repeats: int, cut: int) -> None:
    unit = [0, 1, 2]
    assert trim_tail(head + unit * repeats + unit[:cut], 3) == head + unit


def default_detector() -> LoopDetector:
    return LoopDetector(min_tokens=768, min_repeats=4, max_period=1024)


def first_hit(tokens: list[int]) -> int | None:
    """After how many tokens the default detector stops."""
    detector = default_detector()
    return next((n for n in range(1, len(tokens) + 1) if detector.period(tokens[:n])), None)


def test_honest_repetition_passes() -> None:
    leaders = [token for line in range(60) for token in [100 + line, *[5] * 40, 200 + line, 6]]
    empty_table = [token for _ in range(30) for token in [2, *[3, 4] * 8, 7]]  # 30 rows of 8 empty cells
    numbers = [token for value in range(900) for token in (3, 300 + value % 97 + value // 97, 4)]
    assert first_hit(leaders) is None
    assert first_hit(empty_table) is None
    assert first_hit(numbers) is None


def test_loops_are_stopped_soon_after_their_threshold() -> None:
    head = list(range(1000, 1100))
    sentence = list(range(40))
    paragraph = list(range(500))
    assert first_hit([*head, *[5] * 1000]) == 896  # 100 + 768, at the next multiple of 32
    assert first_hit(head + sentence * 30) == 896
    assert first_hit(head + paragraph * 6) == 2112  # 100 + 4 * 500


def test_zero_tokens_switches_it_off() -> None:
    detector = LoopDetector(min_tokens=0, min_repeats=4, max_period=1024)
    assert detector.period([5] * 4096) is None


def test_variety_is_the_share_of_distinct_grams() -> None:
    assert variety([1, 2, 3, 4]) == 1
    assert variety([7] * 104) == 1 / 101
    assert variety(list(range(50))) == 1


def test_a_tail_that_hardly_varies_is_monotonous() -> None:
    detector = LoopDetector(min_tokens=768, min_repeats=4, max_period=1024, min_variety=0.05)
    rows = [token for row in range(200) for token in ([5] * (18 + row % 3) + [6] * (1 + row % 2))]
    leaders = [token for line in range(60) for token in [100 + line, *[5] * 40, 200 + line, 6]]
    assert not any(detector.is_monotonous(rows[:n]) for n in range(1024))
    assert detector.is_monotonous(rows[:2048])
    assert not any(detector.is_monotonous(leaders[:n]) for n in range(len(leaders)))


def test_without_a_bound_nothing_is_monotonous() -> None:
    assert not LoopDetector(min_tokens=768, min_repeats=4, max_period=1024).is_monotonous([5] * 2048)
