"""Scores how well the cuts of a composed page keep its reading order."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from ocr.layout.crops import Box, CropPlan
from tests.articles.sheet import BoxPt

# Of a line's box that must lie in one crop: feet of letters may stick out.
_WHOLE = 0.85


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOrder:
    """tau: Kendall's of the lines' order, 1 for a page that is read whole: lines of one crop are in order.

    num_crops: 0 for a page that is read whole. num_inverted: pairs of lines of which the later comes first.
    num_torn: lines of which no crop holds all. num_lost: lines of which all crops together do not hold all.
    """

    tau: float
    num_crops: int
    num_inverted: int
    num_torn: int
    num_lost: int


def cut_order(boxes_px: Sequence[BoxPt], plan: CropPlan) -> CutOrder:
    """Returns the order of lines that follow one another in these boxes, as crops that hold them come."""
    if not plan.crops:
        return CutOrder(tau=1.0, num_crops=0, num_inverted=0, num_torn=0, num_lost=0)
    shares = [[_share(box, crop.box_px) for crop in plan.crops] for box in boxes_px]
    places = [held.index(max(held)) for held in shares]
    return CutOrder(
        tau=kendall_tau(places),
        num_crops=len(plan.crops),
        num_inverted=inversions(places),
        num_torn=sum(max(held) < _WHOLE for held in shares),
        num_lost=sum(sum(held) < _WHOLE for held in shares),
    )


def inversions(places: Sequence[int]) -> int:
    """Returns how many pairs stand in the wrong order; equals are in order."""
    return sum(first > second for first, second in combinations(places, 2))


def kendall_tau(places: Sequence[int]) -> float:
    """Returns 1 for places that never fall, -1 for such as always do; 1 for fewer than two."""
    pairs = len(places) * (len(places) - 1) // 2
    return 1 - 2 * inversions(places) / pairs if pairs else 1.0


def _share(line: BoxPt, crop: Box) -> float:
    """The share of a line's box that lies in a crop."""
    across = min(line[2], crop[2]) - max(line[0], crop[0])
    down = min(line[3], crop[3]) - max(line[1], crop[1])
    if across <= 0 or down <= 0:
        return 0.0
    return across * down / ((line[2] - line[0]) * (line[3] - line[1]))
