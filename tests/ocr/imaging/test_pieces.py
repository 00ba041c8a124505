"""Pieces of ink: what touches, corners included, and what stands near in a row, is one."""

import numpy as np
import pytest

from ocr.imaging.pieces import Piece, pieces

PAGE = np.array([[mark == "#" for mark in row] for row in ("#..#....", "#..#..#.", ".##....#", "......#.")])


@pytest.mark.parametrize(
    ("gap_px", "expected"),
    [
        (0, [Piece(x0=0, y0=0, x1=4, y1=3, ink=6), Piece(x0=6, y0=1, x1=8, y1=4, ink=3)]),
        (2, [Piece(x0=0, y0=0, x1=8, y1=4, ink=9)]),
    ],
)
def test_what_hangs_together_is_one_piece(gap_px: int, expected: list[Piece]) -> None:
    assert sorted(pieces(PAGE, gap_px), key=lambda piece: piece.x0) == expected


def test_white_has_no_pieces() -> None:
    assert pieces(np.zeros((4, 5), np.bool_)) == []
