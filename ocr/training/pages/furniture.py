"""Page furniture around the running text: headers, footers, footnotes, notes in the margin, pictures with captions."""

from typing import Literal

import pymupdf

from ocr.training.pages.matter.page_writer import Writer

_LABELS = ["Figure", "Figure", "Fig.", "Abb.", "FIGURE", "Plate", "Abbildung"]
_MARKS = ["*", "†", "‡", "a", "b", "1)", "2)"]


def _number(w: Writer) -> str:
    rng = w.rng
    number = rng.randrange(1, 900)
    shapes = [
        str(number), str(number), f"Page {number}", f"– {number} –", f"{number} / {number + rng.randint(0, 300)}",
        f"[{number}]", rng.choice(["i", "ii", "iii", "iv", "vi", "ix", "xii", "xv"]), f"{rng.randint(1, 20)}-{number}",
    ]  # fmt: skip
    return rng.choice(shapes)


def _line(w: Writer, edge: Literal["top", "bottom"]) -> str:
    """Returns a line of words, a number, or both at the ends of the line; sometimes with a rule at an edge."""
    rng = w.rng
    rule = (
        f"border-{edge}:{rng.choice([1, 1, 2])}px solid #{rng.choice(['000', '000', '888'])};"
        if w.chance(0.35)
        else ""
    )
    if w.chance(0.35):
        left, right = w.words(1, 5), _number(w)
        if w.measure(f"{left} {right}") > w.width_pt:
            return f"<p class=small style='{rule}margin:0'>{right}</p>"
        left, right = (left, right) if w.chance(0.7) else (right, left)
        cells = f"<td>{left}</td><td style='text-align:right'>{right}</td>"
        return f"<div style='{rule}'><table class='plain small' style='width:100%'><tr>{cells}</tr></table></div>"
    number = w.chance(0.5)
    text = _number(w) if number else w.words(1, 6)
    if not number and w.chance(0.3):
        text = text.upper() if "&" not in text else text
    align = rng.choice(["left", "center", "right"])
    return f'<p class=small style="{rule}text-align:{align};margin:0">{text}</p>'


def header(w: Writer) -> str:
    return _line(w, "bottom")


def footer(w: Writer) -> str:
    return _line(w, "top")


def footnotes(w: Writer) -> str:
    """Returns notes at the foot of a page, mostly below a short rule."""
    rng, first, notes = w.rng, w.rng.randint(1, 60), ""
    symbols = w.chance(0.2)
    for number in range(rng.choice([1, 1, 2, 3])):
        mark = _MARKS[number] if symbols else str(first + number)
        mark = f"<sup>{mark}</sup>" if w.chance(0.85) else f"{mark} "
        text = w.words(2, 14) if w.chance(0.5) else w.text(220)
        notes += f"<p class=small style='margin:0'>{mark}{text}</p>"
    if w.chance(0.75):
        width = "width:30%;" if w.chance(0.7) else ""
        return f"<hr style='{width}margin:0 0 3pt 0'>{notes}"
    return notes


def margin_note(w: Writer) -> str:
    return f"<p class=small style='text-align:left;margin:0'>{w.words(1, 9)}</p>"


def bands(frame: pymupdf.Rect, size_pt: float, height_pt: float) -> tuple[pymupdf.Rect, pymupdf.Rect]:
    """Returns the boxes of a header and a footer: above and below the frame."""
    band = size_pt * 1.6
    above = pymupdf.Rect(frame.x0, max(2, frame.y0 - 1.9 * band), frame.x1, frame.y0 - 0.3 * band)
    below = pymupdf.Rect(frame.x0, frame.y1 + 0.4 * band, frame.x1, min(height_pt - 1, frame.y1 + 2.2 * band))
    return above, below


def _picture(w: Writer, width_pt: float, height_pt: float, align: str) -> str:
    """Returns a new picture, at screen resolution."""
    name, scale = f"picture{len(w.images)}", w.rng.uniform(1.0, 1.8)
    w.images[name] = w.pictures.png(w.rng, max(8, int(width_pt * scale)), max(8, int(height_pt * scale)))
    style = f"width:{width_pt:.1f}pt;height:{height_pt:.1f}pt"
    return f'<p style="text-align:{align};text-indent:0"><img src="{name}" style="{style}"></p>'


def figure(w: Writer) -> str:
    """Returns a picture of up to the column's width, mostly with a caption below or above."""
    rng = w.rng
    width = w.width_pt * rng.uniform(0.35, 0.98)
    height = min(width * rng.uniform(0.3, 1.0), 260.0)
    made = _picture(w, width, height, rng.choice(["center", "center", "left"]))
    if w.chance(0.25):
        return made
    label = w.label(rng.choice(_LABELS), 40)
    label = f"<b>{label}</b>" if w.chance(0.4) else label
    text = w.words(2, 12) if w.chance(0.6) else w.text(240)
    caption = f"<p class=caption>{label} {text}</p>"
    return made + caption if w.chance(0.85) else caption + made


def logo(w: Writer) -> str:
    size = w.size_pt * w.rng.uniform(2.0, 6.0)
    return _picture(w, size * w.rng.uniform(1.0, 2.5), size, w.rng.choice(["left", "center", "right"]))
