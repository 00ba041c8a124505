import numpy as np
import pytest
from rapidfuzz.fuzz import partial_ratio_alignment

from ocr.layout.localize.matching.leftovers import _claimed, _Island, _islands, _large_enough
from ocr.layout.localize.matching.line_sections import LineSection
from ocr.layout.localize.matching.marks import SeenMarks


def random_seen(seed: int) -> SeenMarks:
    generator = np.random.default_rng(seed)
    row = np.sort(generator.integers(0, 6, 80))
    x0 = np.concatenate([np.cumsum(generator.integers(2, 14, n)) for n in np.bincount(row, minlength=6)])
    return SeenMarks(
        mark=generator.integers(97, 123, 80), row=row, x0=x0, x1=x0 + generator.integers(1, 3, 80)
    )


def section(x0: int, y0: int, x1: int, y1: int) -> LineSection:
    return LineSection(text=0, start=0, end=1, score=1, x0=x0, y0=y0, x1=x1, y1=y1)


def plain_match(wanted: str, island: _Island) -> bool:
    """Returns whether the wanted marks stand in an island, by the marks alone."""
    if len(wanted) < 3 or len(island.text) < 3:
        return island.alone and wanted in island.text
    match = partial_ratio_alignment(wanted, island.text, score_cutoff=60.0)
    return match is not None and len(island.text) >= 0.6 * len(wanted)


@pytest.mark.parametrize("wanted", ["a", "ab", "abc", "abcde", "abcdefghij"])
def test_what_is_passed_over_would_not_have_matched(wanted: str) -> None:
    texts = ["a", "ab", "b", "abc", "abcd", "xabcde", "abcdef", "abcdefgh", "zzz", "abcdefghijkl"]
    islands = [_Island(row=0, first=0, text=text, alone=alone) for text in texts for alone in (True, False)]
    kept = _large_enough(islands, wanted)
    assert all(island in kept for island in islands if plain_match(wanted, island))
    assert len(kept) < len(islands)
    assert any(plain_match(wanted, island) for island in kept)


@pytest.mark.parametrize("seed", range(5))
def test_claimed_marks_are_those_under_a_section_and_in_the_rows_beside_it(seed: int) -> None:
    seen = random_seen(seed)
    found = [section(10, 1, 40, 2), section(55, 3, 56, 5)]
    wanted = [
        any(part.y0 - 1 <= row < part.y1 + 1 and min(x1, part.x1) > max(x0, part.x0) for part in found)
        for row, x0, x1 in zip(seen.row, seen.x0, seen.x1, strict=True)
    ]
    assert _claimed(found, seen).tolist() == wanted
    assert len(set(wanted)) == 2


@pytest.mark.parametrize("max_gap", [None, 8])
def test_islands_are_what_is_free_in_a_row_without_wide_gaps(max_gap: int | None) -> None:
    seen = random_seen(7)
    claimed = np.random.default_rng(8).random(80) < 0.3
    wanted: list[list[int]] = []
    for at in np.flatnonzero(~claimed).tolist():
        before = wanted[-1][-1] if wanted else -9
        near = max_gap is None or seen.x0[at] - seen.x1[before] <= max_gap
        if at == before + 1 and seen.row[at] == seen.row[before] and near:
            wanted[-1].append(at)
        else:
            wanted.append([at])
    assert list(_islands(seen, claimed, max_gap)) == [
        _Island(
            row=int(seen.row[part[0]]),
            first=part[0],
            text="".join(chr(seen.mark[at]) for at in part),
            alone=max_gap is not None,
        )
        for part in wanted
    ]
    assert not list(_islands(seen, np.ones(80, bool), max_gap))
