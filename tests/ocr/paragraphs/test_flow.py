"""Which lines adjoin is found once for a page: here as it is defined. An initial in a sentence begins no list."""

import numpy as np
import pytest

from ocr.paragraphs.flow import Flow, _adjoin, ranges
from ocr.paragraphs.text_lines import Line


def random_lines(seed: int) -> list[Line]:
    generator = np.random.default_rng(seed)
    bases = np.cumsum(generator.choice([20.0, 21.0, 24.0, 60.0], 60, p=[0.5, 0.25, 0.2, 0.05]))
    lines = []
    for base in bases.tolist():
        size = float(generator.choice([16.0, 16.5, 24.0], p=[0.8, 0.15, 0.05]))
        spans = ((50.0, 50.0 + float(generator.integers(200, 600))),)
        lines.append(Line(text="x" * 40, spans=spans, base=base, size=size))
    return lines


@pytest.mark.parametrize(("start", "end"), [(0, 60), (7, 41), (10, 11), (59, 60)])
def test_around_a_line_are_those_that_adjoin_each_other_up_to_twelve_away(start: int, end: int) -> None:
    sizes = set()
    for seed in range(4):
        lines = random_lines(seed)
        flow = Flow(lines, start, end)
        for at in range(start, end):
            low, high = at, at + 1
            while low > start and at - low < 12 and _adjoin(lines[low - 1], lines[low]):
                low -= 1
            while high < end and high - at < 12 and _adjoin(lines[high - 1], lines[high]):
                high += 1
            assert flow._around(at) == flow._around(at) == lines[low:high]
            sizes.add(high - low)
    assert end - start < 2 or len(sizes) > 3


@pytest.mark.parametrize(("name", "ends"), [("W. Williams, who", [3]), ("1. Williams, who", [2, 3])])
def test_an_initial_below_an_abbreviation_begins_no_list(name: str, ends: list[int]) -> None:
    texts = [
        "The missionaries had bought some land, and I had been",
        "introduced there by many of them to the Rev.",
        name,
    ]
    texts[2] += " had written to them of my wish to pay a visit"
    lines = [Line(text=t, spans=((50.0, 550.0),), base=20.0 * n, size=16.0) for n, t in enumerate(texts)]
    assert [end for _, end, _ in ranges(lines)] == ends
