"""Tables: with and without borders, striped, of keys and values, with captions."""

from ocr.training.pages.matter.html_blocks import Block, Writer
from ocr.training.pages.matter.maths import formula

HEADS = [
    "background-color:#222;color:#fff",
    "background-color:#ddd",
    "font-weight:bold",
    "font-style:italic",
    "",
]
_STRIPES = ["#eee", "#e8eef8", "#f3efe0"]
_EDGES = ["", "border:1px solid #000", "border:1px solid #999", "border-bottom:1px solid #888"]


def style_of(*parts: str) -> str:
    """Returns the style attribute of an element with these declarations, "" without any."""
    found = ";".join(filter(None, parts))
    return f' style="{found}"' if found else ""


def room(w: Writer, rows: list[list[str]], pad_px: int = 5) -> float:
    """Returns the width in points of the rows if no cell wraps, with the widest padding, as for bold text."""
    widths = (max(map(w.measure, column)) for column in zip(*rows, strict=True))
    return sum(1.15 * width + 2 * pad_px + 4 for width in widths)


def grid(w: Writer, rows: list[list[str]], numeric: list[bool], *, wide: bool | None = None) -> Block:
    """Returns a table of escaped cells; the first row is its head. numeric: columns mostly set flush right."""
    rng = w.rng
    edge, stripe, head = rng.choice(_EDGES), rng.choice(["", "", *_STRIPES]), rng.choice(HEADS)
    right = rng.random() < 0.7
    tag = "th" if w.chance(0.3) else "td"
    lines = []
    for number, row in enumerate(rows):
        ground = f"background-color:{stripe}" if stripe and number % 2 else ""
        cells = []
        for text, is_number in zip(row, numeric, strict=True):
            align = "text-align:right" if is_number and right else ""
            name = tag if number == 0 else "td"
            cells.append(f"<{name}{style_of(edge, head if number == 0 else ground, align)}>{text}</{name}>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    name = w.element()
    full = w.chance(0.4) if wide is None else wide
    collapse = "border-collapse:collapse" if edge and w.chance(0.7) else ""
    style = style_of(
        "width:100%" if full else "", collapse, "white-space:nowrap" if room(w, rows) < w.width_pt else ""
    )
    return Block(kind="table", html=f"<table id={name}{style}>{''.join(lines)}</table>", element=name)


def text_grid(w: Writer, rows: list[list[str]], wide: bool) -> Block:
    """Returns a table without columns of numbers."""
    return grid(w, rows, [False] * len(rows[0]), wide=wide)


def narrowed(w: Writer, rows: list[list[str]]) -> list[list[str]]:
    """Returns the rows with as many columns, at least two, as fit without wrapping: wrapped cells are hard to order."""
    while len(rows[0]) > 2 and room(w, rows) > w.width_pt:
        rows = [row[:-1] for row in rows]
    return rows


def table(w: Writer) -> list[Block]:
    rng = w.rng
    most = max(2, min(7, int(w.width_pt / (w.size_pt * 7.5))))
    columns, rows = rng.randint(2, most), rng.randint(2, 13)
    numeric = [w.chance(0.6) for _ in range(columns)]

    def cell(number: bool) -> str:
        if w.chance(0.04):
            return ""
        if w.chance(0.02):
            return formula(rng)
        return w.value()[:18] if number else w.words(1, 3 if columns < 4 else 1)

    body = [[cell(n and row > 0) for n in numeric] for row in range(rows)]
    body = narrowed(w, body)
    return captioned(w, grid(w, body, numeric[: len(body[0])]), share=0.3)


def captioned(w: Writer, made: Block, share: float) -> list[Block]:
    """Returns the table, with a caption for this share of them."""
    if not w.chance(share):
        return [made]
    label = w.label(w.rng.choice(["Table", "Table", "Tab.", "TABLE", "Tabelle", "Tableau"]), 30)
    caption = Block(kind="table_caption", html=f"<p class=caption>{label} {w.words(3, 14)}</p>")
    return [caption, made] if w.chance(0.6) else [made, caption]


def figures(w: Writer) -> list[Block]:
    """Returns a table of nothing but numbers below a head."""
    rng = w.rng
    columns, rows = rng.randint(2, max(2, min(8, int(w.width_pt / (w.size_pt * 4.5))))), rng.randint(3, 14)
    form = rng.choice(["{:.0f}", "{:.1f}", "{:.2f}", "{:.3f}", "{:,.0f}"])
    scale = 10 ** rng.randint(1, 4)
    head = ["", *(w.words(1, 1) for _ in range(columns - 1))]
    body = [
        [w.words(1, 1), *(form.format(rng.uniform(-0.1, 1) * scale) for _ in range(columns - 1))]
        for _ in range(rows)
    ]
    kept = narrowed(w, [head, *body])
    return [grid(w, kept, [False] + [True] * (len(kept[0]) - 1))]


def key_values(w: Writer) -> list[Block]:
    rows = [
        [w.words(1, 3), w.value() if w.chance(0.6) else w.words(1, 4)] for _ in range(w.rng.randint(2, 9))
    ]
    return [grid(w, rows, [False, False])]
