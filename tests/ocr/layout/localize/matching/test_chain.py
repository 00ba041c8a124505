"""Costs between stretches, found for all at once, are the same as those found one by one."""

import numpy as np
import pytest

from ocr.layout.localize.matching.chain import best_chain
from ocr.layout.localize.matching.stretches import Stretches


def random_stretches(count: int, seed: int) -> Stretches:
    generator = np.random.default_rng(seed)
    start = np.sort(generator.integers(0, 3 * count + 1, count))
    length = generator.integers(4, 30, count)
    order = np.lexsort((start, start + length))
    start, length = start[order], length[order]
    x0 = generator.integers(0, 300, count)
    first = generator.integers(0, 2000, count)
    return Stretches(
        text=start // 40,
        start=start,
        end=start + length,
        score=generator.integers(4, length + 1),
        first=first,
        last=first + length - 1,
        row=generator.integers(0, 12, count) + start // 30,
        x0=x0,
        x1=x0 + length,
    )


def plain_cost(found: Stretches, a: int, b: int) -> float:
    rows, gap = found.row[b] - found.row[a], found.x0[b] - found.x1[a]
    if abs(rows) <= 1 and gap >= -3:
        return min(5.0, 0.2 + 0.01 * max(gap, 0))
    if 1 <= rows <= 12 and found.x0[b] < found.x1[a]:
        return min(5.0, 0.5 + 0.15 * (rows - 1))
    return 5.0


def plain_chain(found: Stretches) -> list[int]:
    total: list[float] = []
    before: list[int] = []
    for k in range(len(found)):
        worth = float(found.score[k]) - 2.0
        behind = total[: max(0, k - 96)]
        highest = max(behind, default=0.0)
        jumps = highest > 5.0
        best, origin = worth + (highest - 5.0 if jumps else 0.0), behind.index(highest) if jumps else -1
        reached = {}
        for a in range(max(0, k - 96), k):
            overlap = max(int(found.end[a] - found.start[k]), 0)
            if found.start[a] < found.start[k] and overlap < worth:
                reached[a] = total[a] - plain_cost(found, a, k) - overlap
        if reached:
            a = max(reached, key=lambda a: reached[a])
            if reached[a] + worth > best:
                best, origin = reached[a] + worth, a
        total.append(best)
        before.append(origin)
    chain = [int(np.argmax(total))]
    while before[chain[-1]] >= 0:
        chain.append(before[chain[-1]])
    return chain[::-1]


@pytest.mark.parametrize("count", [1, 2, 3, 30, 95, 96, 97, 98, 250])
def test_it_is_the_chain_that_one_finds_step_by_step(count: int) -> None:
    for seed in range(4):
        found = random_stretches(count, seed)
        assert best_chain(found).tolist() == plain_chain(found), f"seed {seed}"


def test_of_nothing_there_is_no_chain() -> None:
    assert not len(best_chain(random_stretches(1, 0).take(np.zeros(0, np.int64))))
