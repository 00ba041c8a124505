"""Turns what a network says of a page's lines and their pairs into order, blocks and cells. Numpy only.

Every line comes exactly once, whatever the network says. Lines are ordered by what their pairs say, and half as much by
what the pairs of their blocks say on average: so lists beside each other are not mixed, while a block that is none, as
of the names above the speeches of a play, keeps nothing apart. So do long columns of different blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ocr.line_reader.found_lines import Floats, Ints

BEFORE, SAME_BLOCK, SAME_ROW, SAME_COLUMN = range(4)
_SUREST = 8.0  # of logits: no single pair counts for more
_LEVELS = slice(1, 5)  # of the roles: title, headings 1 to 3
# A line stands above another from so much between their baselines, in type sizes, where they share more than this of
# the narrower one's width: so sure is their order. Lines beside each other are less than this apart, and share no more.
_BELOW, _SHARED, _LEVEL, _SURE = 0.8, 0.5, 0.3, 4.0
_PASSES = 3
# How much what two blocks say of each other counts beside what two of their lines say, and two strands: so many lines
# or more, about as wide, that stand so close below each other, in type sizes.
_OF_BLOCKS, _OF_STRANDS, _LONG, _CLOSE = 0.5, 1.0, 12, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LineStructure:
    """The structure of N lines. order: [N] their numbers in reading order. blocks: [N] numbers of their blocks.

    roles: [N]. rows, columns: [N] numbers of table rows and columns within the block, -1 outside tables.
    """

    order: Ints
    blocks: Ints
    roles: Ints
    rows: Ints
    columns: Ints


def structure_of(roles: Floats, pairs: Floats, places: Floats, tabular: Sequence[int]) -> LineStructure:
    """Returns the structure. roles: [N, R], pairs: [4, N, N], logits. places: LineTokens'. tabular: roles of cells."""
    before, blocks = pairs[BEFORE].clip(-_SUREST, _SUREST), clustered(pairs[SAME_BLOCK])
    is_one = blocks[:, None] == blocks
    before, strands = _surely(before, places[: len(before)], is_one)
    scores = before + np.float32(_OF_BLOCKS) * _means(before, blocks)[np.ix_(blocks, blocks)]
    are_long = (np.bincount(strands) >= _LONG)[strands]
    of_strands = _means(before, strands)[np.ix_(strands, strands)]
    scores += np.float32(_OF_STRANDS) * np.where(are_long[:, None] & are_long & ~is_one, of_strands, 0)
    levels = roles[:, _LEVELS]  # whether a line is a heading comes before of which level
    is_heading = np.logaddexp.reduce(levels, axis=1) > np.delete(roles, _LEVELS, 1).max(1)
    named = np.where(is_heading, _LEVELS.start + levels.argmax(1), roles.argmax(1))
    is_cell = np.isin(named, tabular)
    rows, columns = (np.full(len(roles), -1, np.int64) for _ in range(2))
    for block in set(blocks[is_cell].tolist()):
        [own] = np.nonzero((blocks == block) & is_cell)
        for found, pair, axis in ((rows, SAME_ROW, 2), (columns, SAME_COLUMN, 0)):
            groups = clustered(pairs[pair][np.ix_(own, own)])
            starts = [places[own[groups == group], axis].mean() for group in range(groups.max() + 1)]
            found[own] = np.argsort(np.argsort(starts))[groups]
    return LineStructure(order=ordered(scores), blocks=blocks, roles=named, rows=rows, columns=columns)


def _surely(before: Floats, places: Floats, is_one: npt.NDArray[np.bool_]) -> tuple[Floats, Ints]:
    """Returns what pairs say of their order, of one line above another that the upper one comes first.

    And of one beside another of its block, that the left one does. is_one: [N, N], pairs of one block. And [N] numbers
    of strands: of lines that stand close below each other, about as wide, with none between.
    """
    x0, x1, base, size = places[:, :4].T
    wide, shared = x1 - x0, np.minimum(x1[:, None], x1) - np.maximum(x0[:, None], x0)
    small = np.minimum(size[:, None], size)
    down = (base - base[:, None]) / small
    above = (down > _BELOW) & (shared > _SHARED * np.minimum(wide[:, None], wide))
    beside = is_one & (abs(down) < _LEVEL) & (shared < _LEVEL * small) & (x0[:, None] < x0)
    before = np.where(above | beside, np.maximum(before, _SURE), before)
    before = np.where((above | beside).T, np.minimum(before, -_SURE), before)
    down[~above | (shared < _SHARED * np.maximum(wide[:, None], wide))] = np.inf
    numbers, below = np.arange(len(places)), down.argmin(1)
    goes_on = (down[numbers, below] < _CLOSE) & (down.argmin(0)[below] == numbers)
    strands = numbers.copy()
    for number in np.argsort(base, kind="stable"):
        if goes_on[number]:
            strands[below[number]] = strands[number]
    return before, np.unique(strands, return_inverse=True)[1]


def _means(scores: Floats, groups: Ints) -> Floats:
    """Returns [G, G] the mean of what the pairs of two groups' members say. groups: [N] from 0 to G - 1."""
    member = np.eye(int(groups.max()) + 1, dtype=np.float32)[groups]
    sizes = member.sum(0)
    return (member.T @ scores @ member / np.outer(sizes, sizes)).astype(np.float32)


def clustered(logits: Floats) -> Ints:
    """Returns [N] numbers of clusters: those are joined whose mean logit is the best of one of both, and above 0.

    logits: [N, N], symmetric. Source: Boruvka 1926, with mean distances.
    """
    own = np.arange(len(logits))
    sums, sizes = logits.clip(-_SUREST, _SUREST).astype(np.float64), np.ones(len(logits))
    while True:
        means = sums / np.outer(sizes, sizes)
        np.fill_diagonal(means, -_SUREST)
        best, numbers = means.argmax(1), np.arange(len(means))
        joins = (means[numbers, best] > 0) & (best[best] == numbers)  # both are each other's best
        if not joins.any():
            return own
        _, after = np.unique(np.where(joins, np.minimum(numbers, best), numbers), return_inverse=True)
        order = np.argsort(after, kind="stable")
        starts = np.searchsorted(after[order], np.arange(after.max() + 1))
        sums = np.add.reduceat(np.add.reduceat(sums[np.ix_(order, order)], starts, 0), starts, 1)
        sizes, own = np.add.reduceat(sizes[order], starts), after[own]


def ordered(scores: Floats) -> Ints:
    """Returns an order of N things in which what should come first comes first.

    scores: [N, N], how much the first of each pair should precede the second; antisymmetric. By how much each precedes
    all, then by moving single ones to where they agree with most: a local optimum of the linear ordering problem.
    """
    order = np.argsort(-np.tanh(scores / 4).sum(1), kind="stable")
    for _ in range(_PASSES):
        moved = False
        for thing in order.copy():
            at = int(np.nonzero(order == thing)[0][0])
            rest = np.delete(order, at)
            gains = np.concatenate([[0.0], np.cumsum(scores[rest, thing] - scores[thing, rest])])
            place = int(gains.argmax())
            if gains[place] > gains[at] + 1e-3:
                order, moved = np.insert(rest, place, thing), True
        if not moved:
            break
    return order
