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


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
def test_pieces_are_those_that_one_finds_pixel_by_pixel(share: float) -> None:
    page = np.random.default_rng(5).random((30, 40)) < share
    left, found = {(int(y), int(x)) for y, x in np.argwhere(page)}, []
    while left:
        piece, reached = set(), [left.pop()]
        while reached:
            y, x = reached.pop()
            piece.add((y, x))
            near = left & {(y + down, x + right) for down in (-1, 0, 1) for right in (-1, 0, 1)}
            left -= near
            reached += near
        ys, xs = zip(*piece, strict=True)
        found.append(Piece(x0=min(xs), y0=min(ys), x1=max(xs) + 1, y1=max(ys) + 1, ink=len(piece)))

    def bounds(piece: Piece) -> tuple[int, ...]:
        return piece.x0, piece.y0, piece.x1, piece.y1, piece.ink

    assert sorted(map(bounds, pieces(page))) == sorted(map(bounds, found))
