"""Cuts composed pages as a run does, and says how well their order is kept."""

from dataclasses import dataclass

from ocr.layout.split.plan import plan
from tests.articles.compose import compose
from tests.articles.order import CutOrder, cut_order
from tests.articles.sheet import pixels

MAX_TILES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """One composed page, by its number and kind."""

    number: int
    kind: str
    order: CutOrder


def cut(number: int, dpi: int, *, fine: bool = False) -> Cut:
    """Returns how the page of this number is cut. fine: as for a second reading."""
    article = compose(number)
    scale = dpi / 72
    boxes = [(x0 * scale, y0 * scale, x1 * scale, y1 * scale) for x0, y0, x1, y1 in article.boxes_pt]
    found = plan(pixels(article.page, dpi), MAX_TILES, fine=fine)
    return Cut(number=number, kind=article.kind, order=cut_order(boxes, found))
