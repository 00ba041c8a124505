"""Tables and figures with their captions, of a column's width or the page's."""

from collections.abc import Sequence

from tests.articles.blocks import Piece, Setter
from tests.articles.sheet import Sheet, length, wrap

RULES = ("three", "all", "grid", "none")


def table(
    setter: Setter, width: float, num_columns: int, num_rows: int, cells: str, rules: str = "three"
) -> list[Piece]:
    """Returns a table below its caption. cells: "numbers", "words", or "lines" for several lines a cell."""
    rng, size = setter.rng, 0.9 * setter.size
    number = rng.randint(1, 20)
    caption = setter.text(
        f"Table {number}: {setter.words.phrase(rng.randint(5, 16))}.", width, scale=0.9, space=1.2
    )
    pad = 5.0
    step = width / num_columns
    rows = [_row(setter, row, num_columns, cells, step - 2 * pad, size) for row in range(num_rows)]
    heights = [max(len(cell) for cell in row) * 1.2 * size + 0.35 * size for row in rows]

    def draw(sheet: Sheet, x: float, y: float) -> None:
        top = y
        for index, (row, height) in enumerate(zip(rows, heights, strict=True)):
            if rules in ("all", "grid") or (rules == "three" and index in (0, 1)):
                sheet.rule(x, y, x + width, y)
            _set_row(sheet, row, x + pad, y, step, size, "sansbold" if index == 0 else "regular", cells, pad)
            y += height
        if rules != "none":
            sheet.rule(x, y, x + width, y)
        if rules == "grid":
            for edge in range(num_columns + 1):
                sheet.rule(x + edge * step, top, x + edge * step, y)

    return [*caption, Piece(height=sum(heights), draw=draw, space=4), _white(0.8 * setter.size)]


def figure(setter: Setter, width: float, height: float, kind: str) -> list[Piece]:
    """Returns a figure above its caption. kind: "photo" (dark), "plot" (axes with numbers) or "boxes" (with words)."""
    rng = setter.rng
    drawn = {"photo": _photo, "plot": _plot, "boxes": _boxes}[kind](setter, width, height)
    text = f"Figure {rng.randint(1, 20)}: {setter.words.phrase(rng.randint(6, 24))}."
    return [
        Piece(height=height, draw=drawn, space=1.2 * setter.size),
        *setter.text(text, width, scale=0.9, space=0.6),
        _white(0.8 * setter.size),
    ]


def _white(height: float) -> Piece:
    return Piece(height=height, draw=lambda sheet, x, y: None)


def _row(setter: Setter, row: int, num_columns: int, cells: str, room: float, size: float) -> list[list[str]]:
    """The lines of each cell of a row; the first row is the head, the first column names what the row is of."""
    made = []
    for column in range(num_columns):
        if cells == "lines" and row:
            text = setter.words.phrase(setter.rng.randint(3, 16) if column else 2)
            made.append(wrap(text, size, room))
        elif cells == "numbers" and row and column:
            made.append([setter.words.number()])
        else:
            text = setter.words.phrase(setter.rng.randint(1, 4 if cells == "words" else 2))
            face = "regular" if row else "sansbold"
            made.append([_fitted(text, size, room, face)])
    return made


def _fitted(text: str, size: float, room: float, face: str) -> str:
    return wrap(text, size, room, face)[0]


def _set_row(
    sheet: Sheet, row: Sequence[Sequence[str]], x: float, y: float, step: float, size: float, face: str,
    cells: str, pad: float,
) -> None:  # fmt: skip
    ends, bottom = x, y
    for column, lines in enumerate(row):
        for number, line in enumerate(lines):
            base = y + (1.0 + 1.2 * number) * size
            wide = length(line, size, face)
            at = x + column * step
            if cells == "numbers" and column:
                at += step - 2 * pad - wide
            ends, bottom = max(ends, sheet.put(at, base, line, size, face)), max(bottom, base)
    sheet.took(" ".join(" ".join(lines) for lines in row), (x, y + 0.3 * size, ends, bottom + 0.2 * size))


def _photo(setter: Setter, width: float, height: float):
    blots = [
        (setter.rng.random(), setter.rng.random(), setter.rng.uniform(0.05, 0.3), setter.rng.random())
        for _ in range(40)
    ]

    def draw(sheet: Sheet, x: float, y: float) -> None:
        box = (x, y, x + width, y + height)
        sheet.page.draw_rect(box, color=None, fill=(0.45, 0.45, 0.45))
        for across, down, share, grey in blots:
            radius = share * min(width, height) / 2
            centre = (
                x + radius + across * (width - 2 * radius),
                y + radius + down * (height - 2 * radius),
            )
            sheet.page.draw_circle(centre, radius, color=None, fill=(0.7 * grey,) * 3)

    return draw


def _plot(setter: Setter, width: float, height: float):
    points = [setter.rng.random() for _ in range(14)]
    labels = [str(10 * number) for number in range(5)]

    def draw(sheet: Sheet, x: float, y: float) -> None:
        left, foot = x + 0.1 * width, y + 0.85 * height
        sheet.rule(left, y, left, foot)
        sheet.rule(left, foot, x + width, foot)
        step = 0.88 * width / len(points)
        spots = [(left + step * index, foot - 0.8 * height * value) for index, value in enumerate(points)]
        sheet.page.draw_polyline(spots, width=0.8)
        size = 0.7 * setter.size
        for index, label in enumerate(labels):
            sheet.put(x + 0.03 * width, foot - 0.19 * height * index, label, size)
            sheet.put(left + 0.2 * width * index, foot + 1.3 * size, label, size)

    return draw


def _boxes(setter: Setter, width: float, height: float):
    names = [setter.words.phrase(1) for _ in range(3)]

    def draw(sheet: Sheet, x: float, y: float) -> None:
        step = width / 3
        for index, name in enumerate(names):
            left = x + index * step + 0.1 * step
            sheet.page.draw_rect((left, y + 0.25 * height, left + 0.75 * step, y + 0.75 * height), width=0.7)
            sheet.put(left + 4, y + 0.53 * height, name, 0.8 * setter.size, "sans")
            if index:
                sheet.rule(left - 0.25 * step, y + height / 2, left, y + height / 2)

    return draw
