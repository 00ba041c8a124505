"""Tables: with and without rules, striped, with sections and merged cells, typewritten, with captions.

They are read row by row, cell after cell, as the text layer has them; a merged cell belongs to its first row.
"""

import html

from ocr.training.pages.blocks.block_templates import LISTS
from ocr.training.pages.blocks.columns import KINDS
from ocr.training.pages.blocks.listings import preformatted
from ocr.training.pages.blocks.page_writer import Writer, visible

Rows = list[list[str]]


def table(w: Writer) -> str:
    """Returns columns of some kinds, as many as fit without wrapping: wrapped cells are hard to order."""
    rng = w.rng
    kinds = rng.choices(KINDS, [kind.share for kind in KINDS], k=rng.randint(2, 7))
    cells = [(kind.make(w), i and rng.choice([0.03, 0.03, 0.03, 0.6])) for i, kind in enumerate(kinds)]
    count = rng.randint(2, 14) if w.chance(0.6) else rng.randint(8, 50)
    rows = [["" if w.chance(empty) else cell(n) for cell, empty in cells] for n in range(count)]
    if w.chance(0.85):
        rows.insert(0, [rng.choice(kind.heads) if kind.heads else w.words(1, 1) for kind in kinds])
    while len(rows[0]) > 2 and _room(w, rows) > w.width_pt:
        rows = [row[:-1] for row in rows]
    if w.chance(0.12):
        return _typewritten(w, rows)
    return captioned(w, grid(w, rows, [kind.number for kind in kinds[: len(rows[0])]]), share=0.2)


def _typewritten(w: Writer, rows: Rows) -> str:
    plain = [
        [visible(cell).replace(" ", "") if "<" in cell else html.unescape(cell) for cell in r] for r in rows
    ]
    widths = [max(map(len, column)) for column in zip(*plain, strict=True)]
    joint = w.rng.choice(["  ", "  ", " | ", " "])
    lines = [
        joint.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))[: w.fits()].rstrip()
        for row in plain
    ]
    return preformatted(lines)


def _room(w: Writer, rows: Rows, pad_px: int = 5) -> float:
    """Returns the width in points of the rows if no cell wraps, with the widest padding, as for bold text."""
    widths = (max(map(w.measure, column)) for column in zip(*rows, strict=True))
    return sum(1.15 * width + 2 * pad_px + 4 for width in widths)


def grid(
    w: Writer, rows: Rows, numeric: list[bool], *, percents: list[int] | None = None, scale: float = 1.0
) -> str:
    """Returns a table of escaped cells; the first row is its head.

    numeric: columns mostly set flush right. percents: the columns' widths, for cells that wrap, the first of which may
    go over several rows; None makes them as wide as their cells. scale: of the type.
    """
    rng, kind, line = w.rng, w.rng.choice(LISTS["rules"]), w.rng.choice(LISTS["rule styles"])
    stripe, head = rng.choice(LISTS["stripes"]), rng.choice(LISTS["head styles"])
    tag = "th" if w.chance(0.3) else "td"
    right, upright = rng.random() < 0.7, rng.choice(["top", "top", "middle"])
    clear = kind in ("grid", "rows", "inner") or upright == "top"  # shows where a merged cell belongs
    spans = _spans(w, len(rows), merged=percents is not None and clear and w.chance(0.3))
    sections = percents is not None and w.chance(0.2)
    made = ""
    for number, (row, span) in enumerate(zip(rows, spans, strict=True)):
        if sections and number and span and w.chance(0.2):
            style = style_of(_edge(kind, line, 0), rng.choice(LISTS["section styles"]))
            made += f"<tr><td colspan={len(row)}{style}>{w.words(1, 3)}</td></tr>"
        cells = ""
        for i, (text, is_number) in enumerate(zip(row, numeric, strict=True)):
            height = 1 if i else span
            if not height:
                continue
            style = style_of(
                _edge(kind, line, i, head=number == 0, last=number + height == len(rows)),
                head if number == 0 else f"background-color:{stripe}" if stripe and number % 2 else "",
                "text-align:right" if is_number and right else "",
                f"vertical-align:{upright}",
                f"width:{percents[i]}%" if percents else "",
            )
            name = tag if number == 0 else "td"
            cells += f"<{name}{f' rowspan={height}' if height > 1 else ''}{style}>{text}</{name}>"
        made += f"<tr>{cells}</tr>"
    style = style_of(
        "width:100%" if percents or w.chance(0.4) else "",
        "border-collapse:collapse" if kind != "none" and w.chance(0.8) else "",
        "white-space:nowrap" if not percents and _room(w, rows) < w.width_pt else "",
        f"font-size:{scale}em" if scale < 1 else "",
    )
    return f"<table{style}>{made}</table>"


def style_of(*parts: str) -> str:
    """Returns the style attribute of an element with these declarations, "" without any."""
    found = ";".join(filter(None, parts))
    return f' style="{found}"' if found else ""


def _spans(w: Writer, count: int, *, merged: bool) -> list[int]:
    """Returns how many rows the first cell of each row goes over; 0 if one above covers it."""
    spans = [1]
    while len(spans) < count:
        span = min(w.rng.randint(2, 4) if merged and w.chance(0.5) else 1, count - len(spans))
        spans += [span, *[0] * (span - 1)]
    return spans


def _edge(kind: str, line: str, column: int, *, head: bool = False, last: bool = False) -> str:
    """Returns the rules at the sides of a cell. head, last: whether it is in the head, or in the last row."""
    left, below = ["left"] if column else [], ["bottom"] if last else []
    sides = {
        "grid": ["left", "right", "top", "bottom"],
        "rows": ["top", *below],
        "inner": ["top", *below, *left],
        "columns": left,
        "book": ["top", "bottom"] if head else below,
        "none": [],
    }[kind]
    return ";".join(f"border-{side}:{line}" for side in sides)


def captioned(w: Writer, made: str, share: float) -> str:
    """Returns the table, with a caption for this share of them."""
    if not w.chance(share):
        return made
    label = w.label(w.rng.choice(["Table", "Table", "Tab.", "TABLE", "Tabelle", "Tableau"]), 30)
    caption = f"<p class=caption>{label} {w.words(3, 14)}</p>"
    return caption + made if w.chance(0.6) else made + caption
