"""Pages drawn in a page: their places, the frames around them, and rulers and notes at their sides."""

import random
from dataclasses import dataclass

import pymupdf

from ocr.training.pages.matter.html_blocks import Block, Writer
from ocr.training.pages.sheets import Layout
from ocr.training.pages.truth.page_truth import UnreadableError

_LEAST_EM = 14.0  # width of a page
_GREYS = [0.0, 0.0, 0.3, 0.6]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Places in an outer page. pages: frames of the inner pages. sides: room for notes. below: for what follows."""

    pages: tuple[pymupdf.Rect, ...]
    sides: tuple[pymupdf.Rect, ...]
    below: pymupdf.Rect


def plan(rng: random.Random, frame: pymupdf.Rect, size_pt: float, columns: int) -> Plan:
    """Returns a plan of one page with notes at one or both sides, or of two pages side by side.

    Raises UnreadableError if the pages were too narrow.
    """
    height = frame.height * rng.uniform(0.45, 0.95)
    top, bottom = frame.y0, frame.y0 + height
    if rng.random() < 0.3:
        gap = rng.uniform(0.5, 4.0) * size_pt
        middle = (frame.x0 + frame.x1) / 2
        edges = [(frame.x0, middle - gap / 2), (middle + gap / 2, frame.x1)]
        sides = []
    else:
        left, right = rng.choice([(0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (1.0, 1.0), (0.4, 0.4)])
        room = frame.width * rng.uniform(0.14, 0.2)
        edges = [(frame.x0 + left * room, frame.x1 - right * room)]
        sides = [(frame.x0, frame.x0 + room)] if left == 1.0 else []
        sides += [(frame.x1 - room, frame.x1)] if right == 1.0 else []
    if min(x1 - x0 for x0, x1 in edges) < _LEAST_EM * size_pt * columns:
        raise UnreadableError("no room for a page in the page")
    air = 0.4 * size_pt
    return Plan(
        pages=tuple(pymupdf.Rect(x0, top, x1, bottom) for x0, x1 in edges),
        sides=tuple(pymupdf.Rect(x0 + air, top, x1 - air, bottom) for x0, x1 in sides),
        below=pymupdf.Rect(frame.x0, bottom + size_pt, frame.x1, frame.y1),
    )


def outline(w: Writer, layout: Layout, made: Plan) -> None:
    """Draws frames around the pages."""
    layout.stroke(list(made.pages), [], width_pt=w.rng.uniform(0.3, 1.5), grey=w.rng.choice(_GREYS))


def rulers(w: Writer, layout: Layout, made: Plan) -> tuple[pymupdf.Rect, ...]:
    """Draws scales at the sides of the pages, numbers at the outer edge; returns the sides without the numbers."""
    rng, inner = w.rng, []
    step_pt, count = rng.uniform(1.6, 3.0) * w.size_pt, rng.choice([1, 2, 4, 5, 10])
    last = int(made.pages[0].height / step_pt)
    numbers = [n * count for n in range(last)]
    numbers = numbers if w.chance(0.5) else numbers[::-1]
    grey = rng.choice([0.5, 0.6, 0.7])
    shade = round(255 * (grey - 0.1))
    css = f"margin:0;line-height:{step_pt:.2f}pt;color:rgb({shade},{shade},{shade})"
    text = "<br>".join(map(str, numbers))
    for side in made.sides:
        at_right = side.x0 > made.pages[0].x0
        free, band = pymupdf.Rect(side), 2.6 * w.size_pt
        if at_right:
            free.x1 -= band
        else:
            free.x0 += band
        heights = [side.y0 + (n + 0.5) * step_pt for n in range(last)]
        layout.stroke([], [((free.x0, y), (free.x1, y)) for y in heights], width_pt=0.4, grey=grey)
        html = f"<p class={'right' if at_right else 'left'} style='{css}'>{text}</p>"
        layout.place([Block(kind="aside_text", html=html)], [side])
        inner.append(free)
    return tuple(inner)


def notes(w: Writer, layout: Layout, sides: tuple[pymupdf.Rect, ...], *, ruled: bool) -> None:
    """Draws short notes, one below the other on each side. ruled: on a ground of their own over a ruler's lines."""
    rng = w.rng
    grounds = [
        "background-color:#ff6",
        "background-color:#eee",
        "background-color:#fff;border:1px solid #900",
    ]
    ground = rng.choice(grounds if ruled else ["", "", *grounds])
    for side in sides:
        top = side.y0
        for _ in range(rng.randint(0, 4)):
            top += rng.uniform(0.02, 0.3) * side.height
            box = pymupdf.Rect(side.x0, top, side.x1, side.y1)
            if box.height < 0.2 * side.height:
                break
            text = f"<p class='left small'>{w.words(1, 12)}</p>"
            if ground:
                cell = f"<td style='{ground};padding:2px'>{text}</td>"
                text = f"<table style='width:100%'><tr>{cell}</tr></table>"
            top = layout.place([Block(kind="aside_text", html=text)], [box])
