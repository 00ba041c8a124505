"""Pages drawn in a page: the inner page is read before what stands below it, and nothing is printed over another."""

import random
from pathlib import Path

import numpy as np
import pymupdf
import pytest

from ocr.training.pages.compose import compose
from ocr.training.pages.fonts import Fonts
from ocr.training.pages.genres import GENRES
from ocr.training.pages.nested import plan
from ocr.training.pages.truth.page_truth import UnreadableError, extract
from ocr.training.pages.words.text import TextSource

NESTED = next(genre for genre in GENRES if genre.nested)
FRAME = pymupdf.Rect(50, 60, 540, 780)


def test_pages_sides_and_the_room_below_do_not_overlap() -> None:
    one = two = 0
    for seed in range(40):
        made = plan(random.Random(seed), FRAME, 7.0, 2)
        parts = [*made.pages, *made.sides, made.below]
        for number, part in enumerate(parts):
            assert FRAME.contains(part) or part.is_empty
            assert all(part.x1 <= o.x0 or o.x1 <= part.x0 or part.y1 < o.y0 for o in parts[number + 1 :])
        one, two = one + (len(made.pages) == 1), two + (len(made.pages) == 2)
    assert one > two > 3


def test_a_page_too_narrow_for_its_columns_is_refused() -> None:
    with pytest.raises(UnreadableError):
        plan(random.Random(1), pymupdf.Rect(0, 0, 200, 300), 12.0, 2)


def test_no_letter_stands_on_another(corpus: Path) -> None:
    source, fonts, drawn = TextSource(corpus / "text"), Fonts(corpus / "fonts"), 0
    for seed in range(12):
        try:
            sheet = compose(
                random.Random(seed), source, fonts, width_pt=595, height_pt=842, size_pt=7.0, columns=1 + seed % 2,
                genre=NESTED, category="en_prose",
            )  # fmt: skip
        except UnreadableError:
            continue
        box = extract(sheet).box_pt
        box = box[~np.isnan(box[:, 0])]
        middle = (box[:, :2] + box[:, 2:]) / 2
        apart = np.abs(middle[:, None] - middle[None]).max(-1) + 9 * np.eye(len(middle))
        assert apart.min() > 0.2
        drawn += 1
    assert drawn > 8
