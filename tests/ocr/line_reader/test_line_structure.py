import numpy as np
import pytest

from ocr.line_reader.line_structure import clustered, ordered, structure_of


def test_what_the_pairs_say_is_the_order() -> None:
    rng = np.random.default_rng(0)
    wanted = rng.permutation(30)
    rank = np.argsort(wanted)
    scores = np.sign(rank[None] - rank[:, None]) * rng.uniform(0.5, 3, (30, 30))
    assert ordered((scores - scores.T).astype(np.float32)).tolist() == wanted.tolist()


def test_lines_of_one_block_stay_together() -> None:
    logits = np.full((4, 4), -3.0, np.float32)
    logits[np.ix_([0, 2], [0, 2])] = logits[np.ix_([1, 3], [1, 3])] = 3.0
    assert clustered(logits).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("seed", range(20))
def test_every_line_comes_exactly_once_whatever_the_network_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 40))
    pairs = rng.normal(0, 10, (4, count, count)).astype(np.float32)
    pairs[0] -= pairs[0].T
    pairs[1:] += pairs[1:].transpose(0, 2, 1)
    roles = rng.normal(0, 1, (count, 5)).astype(np.float32)
    said = structure_of(roles, pairs, rng.uniform(0, 50, (count, 5)).astype(np.float32), (3, 4))
    assert sorted(said.order.tolist()) == list(range(count))
    assert ((said.rows >= 0) == (said.columns >= 0)).all()
    assert ((said.rows >= 0) == np.isin(said.roles, (3, 4))).all()


@pytest.mark.parametrize("seed", range(20))
def test_no_line_of_a_column_comes_before_one_above_it_where_the_network_says_little(seed: int) -> None:
    """Pairs say less than is sure of two lines, one of which stands above the other."""
    rng = np.random.default_rng(seed)
    pairs = rng.normal(0, 0.3, (4, 30, 30)).astype(np.float32)
    pairs[0] -= pairs[0].T
    pairs[1:] += pairs[1:].transpose(0, 2, 1)
    column, base = rng.integers(0, 3, 30), rng.permutation(30) * 1.5
    places = np.stack([20.0 * column, 20.0 * column + 15, base, np.ones(30), np.zeros(30)], 1).astype(
        np.float32
    )
    order = structure_of(np.zeros((30, 5), np.float32), pairs, places, (3, 4)).order
    for own in range(3):
        assert (np.diff(base[order[column[order] == own]]) > 0).all()


def test_of_a_block_s_lines_in_one_row_the_left_one_comes_first_where_the_network_says_little() -> None:
    places = np.array([(10, 19, 5, 1, 0), (8, 9, 5.1, 1, 0), (11, 14, 7, 1, 0), (9, 10, 7, 1, 0)], np.float32)
    pairs = np.zeros((4, 4, 4), np.float32)
    pairs[0, :2, 2:], pairs[0, 0, 1], pairs[0, 2, 3] = 1.0, 2.0, 2.0
    pairs[0] -= pairs[0].T
    pairs[1] = 5.0
    order = structure_of(np.zeros((4, 5), np.float32), pairs, places, (3, 4)).order
    assert order.tolist() == [1, 0, 3, 2]


def test_long_columns_of_one_block_are_read_row_by_row_where_the_network_says_so() -> None:
    """Names, and beside them, a row at a time, what they mean: no column comes whole before the other."""
    names, row = np.arange(40) < 20, np.arange(40) % 20
    places = np.stack([np.where(names, 0, 12), np.where(names, 8, 20), 1.2 * row, *np.ones((2, 40))], 1)
    after = (row[:, None] < row) | ((row[:, None] == row) & (names[:, None] > names))
    pairs = np.full((4, 40, 40), 5.0, np.float32)
    pairs[0] = np.where(after, 1.0, 0) - after.T + 0.5 * (names[:, None] * 1.0 - names)
    order = structure_of(np.zeros((40, 5), np.float32), pairs, places.astype(np.float32), (3, 4)).order
    assert row[order].tolist() == sorted(row.tolist())
