"""Cuts a PDF page's own text layer into drafts for the decoder, one for each of the page's readings. Torch-free."""

import math
from collections.abc import Sequence

from ocr.layout.crops import CropPlan
from pipeline.text_layer.extract.lines import LayerLine, as_text

Point = tuple[float, float]


def texts(lines: Sequence[LayerLine], plan: CropPlan, px_per_pt: float) -> tuple[str | None, ...]:
    """Returns the text of each of the page's readings: of its crops, or of the page. None where there is none.

    px_per_pt: pixels per point on the plan's page.
    """
    if not plan.crops:
        return (as_text(lines),)
    words = [word for line in lines for word in _words(line, px_per_pt)]
    places = _upright([((w.x0 + w.x1) / 2, w.base - 0.3 * w.size) for w in words], plan)
    found = []
    for crop in plan.crops:
        x0, y0, x1, y1 = crop.box_px
        inside = [word for word, (x, y) in zip(words, places, strict=True) if x0 <= x < x1 and y0 <= y < y1]
        found.append(as_text(inside))
    return tuple(found)


def _words(line: LayerLine, scale: float) -> list[LayerLine]:
    """Returns the words of a line, scaled, with positions estimated from their share of the line's letters.

    A space at the beginning or end of the line stays with its word.
    """
    letter = (line.x1 - line.x0) / len(line.text)
    words = []
    start = 0
    for word in line.text.split(" "):
        end = start + len(word)
        if word:
            words.append(
                LayerLine(
                    text=word,
                    x0=(line.x0 + start * letter) * scale,
                    x1=(line.x0 + end * letter) * scale,
                    base=line.base * scale,
                    size=line.size * scale,
                )
            )
        start = end + 1
    return words


def _upright(points: Sequence[Point], plan: CropPlan) -> list[Point]:
    """Returns points of the page after rotating it by the plan's angle."""
    if not plan.angle_deg:
        return list(points)
    sine, cosine = math.sin(math.radians(plan.angle_deg)), math.cos(math.radians(plan.angle_deg))
    middle_x, middle_y = plan.size_px[0] / 2, plan.size_px[1] / 2
    return [
        (
            middle_x + (x - middle_x) * cosine + (y - middle_y) * sine,
            middle_y - (x - middle_x) * sine + (y - middle_y) * cosine,
        )
        for x, y in points
    ]
