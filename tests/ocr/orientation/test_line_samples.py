import numpy as np
from PIL import Image

from ocr.imaging.ink import contrast_of, print_in
from ocr.imaging.measures import ORIENTATION_INK
from ocr.orientation.line_samples import (
    LETTER_PX,
    PIECE_HEIGHT,
    PIECE_WIDTH,
    Places,
    chosen,
    find_places,
    reduced,
    windows,
)


def lines(letter_px: int = 8) -> np.ndarray:
    """Dark bars, letter_px high, where lines of text would be: [600, 480] uint8."""
    page = np.full((600, 480), 240, np.uint8)
    for top in range(40, 560, 4 * letter_px):
        page[top : top + letter_px, 40:440:3] = 20
        page[top : top + letter_px, 41:440:3] = 20
    return page


def places_on(page: np.ndarray) -> Places:
    return find_places(print_in(contrast_of(Image.fromarray(page), ORIENTATION_INK), ORIENTATION_INK))


def test_reduced_by_a_whole_number_and_never_enlarged():
    assert reduced(np.zeros((2000, 1400, 3), np.uint8), 1000).size == (700, 1000)
    assert reduced(np.zeros((300, 400), np.uint8), 1000).size == (400, 300)


def test_lines_are_found_with_their_neighbours():
    places = places_on(lines())
    assert set((places.bottom - places.top).tolist()) <= {7, 8, 9}
    assert np.bincount(places.num_beside).argmax() == 2
    assert len(np.unique(places.top)) == len(range(40, 560, 32))


def test_paper_and_grain_are_no_ink():
    grain = np.random.default_rng(0).normal(230, 4, (400, 300)).clip(0, 255).astype(np.uint8)
    assert not print_in(contrast_of(Image.fromarray(grain), ORIENTATION_INK), ORIENTATION_INK).any()


def test_chosen_takes_lines_that_go_on_first():
    places = places_on(lines())
    kept = chosen(places, 20)
    assert len(kept) == 20
    assert (kept.num_beside == 2).all()
    assert len(chosen(places, 10_000)) == len(places)


def test_letters_of_any_size_come_out_at_one_size():
    for letter_px in (6, 12, 40):
        contrast = contrast_of(Image.fromarray(lines(letter_px)), ORIENTATION_INK)
        pieces = windows(contrast, chosen(places_on(lines(letter_px)), 10))
        assert pieces.shape[1:] == (PIECE_HEIGHT, PIECE_WIDTH)
        rows = pieces.mean(axis=(0, 2))
        assert abs(int((rows > 0.4 * rows.max()).sum()) - LETTER_PX) <= 2
        assert 0 <= pieces.min() <= pieces.max() <= 1
