"""Drops sections of a text that lie apart from the rest of it, which are chance matches where they are few."""

from collections.abc import Sequence

from ocr.layout.localize.matching.line_sections import LineSection

_NEAR_ROWS, _NEAR_CELLS = 5, 40  # sections of a text no further apart belong together
_FEW = 0.25  # as a share of the marks of the largest group


def without_strays(own: Sequence[LineSection], others: Sequence[LineSection]) -> list[LineSection]:
    """Returns the sections of one text except few that lie apart. others: the sections of all texts.

    Sections in the same row belong together, however far apart, unless another text lies between them.
    """
    groups: list[list[LineSection]] = []
    for section in own:
        near = [group for group in groups if any(_together(section, member, others) for member in group)]
        groups = [group for group in groups if group not in near]
        groups.append([*(member for group in near for member in group), section])
    weights = [sum(section.score for section in group) for group in groups]
    kept = [
        section
        for group, weight in zip(groups, weights, strict=True)
        if weight >= _FEW * max(weights)
        for section in group
    ]
    return sorted(kept, key=lambda section: section.start)


def _together(a: LineSection, b: LineSection, others: Sequence[LineSection]) -> bool:
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
