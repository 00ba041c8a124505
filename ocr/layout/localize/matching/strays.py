"""Drops sections of a text that lie apart from the rest of it, which are chance matches where they are few."""

from collections.abc import Sequence

from ocr.layout.localize.matching.line_pieces import Piece

_NEAR_ROWS, _NEAR_CELLS = 5, 40  # sections of a text no further apart belong together
_FEW = 0.25  # as a share of the marks of the largest group


def without_strays(own: Sequence[Piece], others: Sequence[Piece]) -> list[Piece]:
    """Returns the sections of one text except few that lie apart. others: the sections of all texts.

    Sections in the same row belong together, however far apart, unless another text lies between them.
    """
    groups: list[list[Piece]] = []
    for piece in own:
        near = [group for group in groups if any(_together(piece, member, others) for member in group)]
        groups = [group for group in groups if group not in near]
        groups.append([*(member for group in near for member in group), piece])
    weights = [sum(piece.score for piece in group) for group in groups]
    kept = [
        piece
        for group, weight in zip(groups, weights, strict=True)
        if weight >= _FEW * max(weights)
        for piece in group
    ]
    return sorted(kept, key=lambda piece: piece.start)


def _together(a: Piece, b: Piece, others: Sequence[Piece]) -> bool:
    rows = max(a.y0, b.y0) - min(a.y1, b.y1)
    cells = max(a.x0, b.x0) - min(a.x1, b.x1)
    if rows <= _NEAR_ROWS and cells <= _NEAR_CELLS:
        return True
    left, right = min(a.x1, b.x1), max(a.x0, b.x0)
    return rows < 1 and not any(
        other.text != a.text
        and other.x0 < right
        and other.x1 > left
        and other.y0 <= max(a.y0, b.y0)
        and other.y1 >= min(a.y1, b.y1)
        for other in others
    )
