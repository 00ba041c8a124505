"""Text between two gutters is found as the plain way finds it, which checks every pixel."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from ocr.imaging.measures import LETTER_WIDTH, LOWEST_MARK
from ocr.imaging.profiles import Mask
from ocr.layout.bands import bands_of
from ocr.layout.texture import EVEN_TEXT, LOOSE_TEXT, RUNNING_TEXT, Sides, Texture, are_even, is_text

X_HEIGHT_PX = 8.0


def lines_of_words(seed: int, height: int = 700, width: int = 900) -> Mask:
    """Lines of words and, in some columns, of lonely dots; [H, W]."""
    rng = np.random.default_rng(seed)
    window = np.zeros((height, width), np.bool_)
    ends = np.sort(rng.choice(np.arange(60, width - 60), 3, replace=False))
    for left, right in pairwise([0, *ends.tolist(), width]):
        is_leader = rng.random() < 0.3
        for top in range(int(rng.integers(5, 120)), height - 30, int(rng.integers(22, 34))):
            x = left + 12
            while x < right - 24:
                wide = 2 if is_leader else int(rng.integers(10, 60))
                window[top : top + (2 if is_leader else 14), x : min(x + wide, right - 12)] = True
                x += wide + int(rng.integers(4, 30))
    return window


def plainly(side: Mask, texture: Texture, min_lines: int = 5) -> bool:
    columns = np.flatnonzero(side.any(axis=0))
    lines = [(top, bottom) for top, bottom in bands_of(side) if bottom - top >= LOWEST_MARK * X_HEIGHT_PX]
    if not len(columns) or not lines or lines[0][0] > 0.3 * side.shape[0]:
        return False
    numbers = [max(1, round((bottom - top) / (2.4 * X_HEIGHT_PX))) for top, bottom in lines]
    if sum(numbers) < min_lines or lines[-1][1] - lines[0][0] > 4.2 * X_HEIGHT_PX * sum(numbers):
        return False
    chars, reach, spaces = [], [], []
    step = max(1, len(lines) // 24)
    for (top, bottom), number in zip(lines[::step], numbers[::step], strict=True):
        hits = np.flatnonzero(side[top:bottom].any(axis=0))
        chars += [len(hits) / (LETTER_WIDTH * X_HEIGHT_PX)] * number
        reach += [(hits[-1] - hits[0] + 1) / (columns[-1] - columns[0] + 1)] * number
        spaces += [float(np.diff(hits).max(initial=0))] * number
    return bool(
        np.median(chars) >= texture.chars
        and np.median(reach) >= texture.reach
        and np.percentile(spaces, 60) <= texture.word_space * X_HEIGHT_PX
    )


@pytest.mark.slow
@pytest.mark.parametrize("texture", [RUNNING_TEXT, EVEN_TEXT, LOOSE_TEXT])
def test_sides_are_judged_as_if_each_were_looked_at(texture: Texture) -> None:
    verdicts = []
    for seed in range(12):
        window = lines_of_words(seed)
        cuts = [0, *range(45, window.shape[1], 45), window.shape[1]]
        sides = Sides(window, cuts)
        for left, right in combinations(cuts, 2):
            expected = plainly(window[:, left:right], texture)
            assert sides.is_text(left, right, X_HEIGHT_PX, texture) is expected, (seed, left, right)
            verdicts.append(expected)
        assert is_text(window[:, :300], X_HEIGHT_PX, texture) is plainly(window[:, :300], texture)
    assert 0.02 < np.mean(verdicts) < 0.98, "both happen"


def test_nothing_is_no_text() -> None:
    nothing = np.zeros((300, 200), np.bool_)
    assert not is_text(nothing, X_HEIGHT_PX, RUNNING_TEXT)
    assert not is_text(nothing[:, :0], X_HEIGHT_PX, RUNNING_TEXT)


@pytest.mark.parametrize(
    ("extents", "expected"),
    [
        ([(10, 110), (150, 250), (290, 390)], True),
        ([(10, 110), (150, 230), (290, 390)], False),
        ([(10, 110), (130, 230), (290, 390)], False),
    ],
)
def test_even_columns_have_one_width_and_one_distance(extents: list[tuple[int, int]], expected: bool) -> None:
    hits = [x for left, right in extents for x in range(left, right)]
    edges = [(before[1] + after[0]) // 2 for before, after in pairwise(extents)]
    assert are_even(hits, edges) is expected
    assert not are_even(hits, [*edges, 395]), "a column without ink"
