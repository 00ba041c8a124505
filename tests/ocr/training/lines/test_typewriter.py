"""Typed pages are known by their letters' widths; wear moves and pales letters and leaves all else."""

import random

import numpy as np

from ocr.training.lines.typewriter import is_typed, wear_type

TEXT = "the quick brown fox\njumps over the lazy dog now\nand again"


def boxes(width: float, uneven: float = 0.0) -> np.ndarray:
    """Returns the bands of TEXT's letters, 40 px apart down and `width` across, some narrower where uneven."""
    made, x, y = [], 20.0, 60.0
    for mark in TEXT:
        if mark == "\n":
            x, y = 20.0, y + 40
        own = width * (1 - uneven * (mark in "iljtreao "))
        made.append((np.nan,) * 4 if mark in " \n" else (x, y - 14, x + own, y + 1))
        x += own
    return np.asarray(made, np.float32)


def test_typed_is_what_has_one_width() -> None:
    assert is_typed(TEXT, boxes(12))
    assert not is_typed(TEXT, boxes(12, uneven=0.4))
    assert not is_typed(TEXT[:20], boxes(12)[:20])


def test_letters_move_a_little_and_nothing_else_does() -> None:
    page = np.full((200, 480), 255, np.uint8)
    places = boxes(12)
    for x0, y0, x1, y1 in places[~np.isnan(places[:, 0])].round().astype(int).tolist():
        page[y0:y1, x0 + 2 : x1 - 2] = 0
    page[180:184, :] = 30  # a rule
    page[52:58, 300:] = 100  # a picture beyond the line
    for seed in range(8):
        worn = page.copy()
        wear_type(random.Random(seed), worn, TEXT, places)
        assert (worn[180:184] == 30).all()
        assert (worn[52:58, 300:] == 100).all()
        ink, before = (255 - worn[:170].astype(int)).sum(), (255 - page[:170].astype(int)).sum()
        assert 0.4 * before < ink < 1.1 * before
        assert (worn != page).mean() > 0.005


def test_a_letter_on_a_shaded_ground_stays() -> None:
    page = np.full((200, 480), 220, np.uint8)
    page[50:60, 25:400] = 0
    worn = page.copy()
    wear_type(random.Random(1), worn, TEXT, boxes(12))
    np.testing.assert_array_equal(worn, page)
