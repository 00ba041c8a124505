import numpy as np
import pytest

from ocr.orientation.line_samples import PIECE_HEIGHT, PIECE_WIDTH
from ocr.orientation.net import shipped


@pytest.fixture
def pieces() -> np.ndarray:
    return np.random.default_rng(0).uniform(0, 1, (5, PIECE_HEIGHT, PIECE_WIDTH)).astype(np.float32)


def test_probabilities_add_up(pieces):
    assert np.exp(shipped().log_odds(pieces)).sum(axis=1) == pytest.approx(np.ones(5), abs=1e-5)


def test_upside_down_is_the_opposite(pieces):
    here, turned = shipped().log_odds(pieces), shipped().log_odds(pieces[:, ::-1, ::-1])
    assert here[:, [1, 0, 2]] == pytest.approx(turned, abs=1e-4)


def test_paper_leans_to_neither_side():
    said = shipped().log_odds(np.zeros((1, PIECE_HEIGHT, PIECE_WIDTH), np.float32))[0]
    assert said[0] == pytest.approx(said[1])


def test_no_pieces():
    assert shipped().log_odds(np.zeros((0, PIECE_HEIGHT, PIECE_WIDTH), np.float32)).shape == (0, 3)
