"""Pages of manuals: explanations that hang, programs, what they print in columns, names, contents, plays, sums."""

import random
from functools import partial

from ocr.line_reader.structure_network import ROLES
from ocr.training.pages.blocks.slips import amount
from ocr.training.pages.page_source import PageSource
from ocr.training.structure.placed_lines import CHAR, LinePage, put_line, width_of
from ocr.training.structure.true_lines import Place, TrueLine


def explained(rng: random.Random, source: PageSource) -> LinePage:
    """Returns a manual's page, of up to three columns.

    What is explained may go on below its own end, far at the right, before what it means. Columns of what a program
    prints, and of names, are read row by row, however far apart; some cells of a row are empty.
    """
    size, several = rng.uniform(6.0, 11.0), rng.choice([1, 1, 1, 2, 3])
    width = rng.uniform(300, 520) if several == 1 else rng.uniform(20, 40) * size
    gutter, leading = rng.uniform(0.05, 0.1) * width, rng.uniform(1.1, 1.6) * size
    left, right, over = gutter, width - gutter, 3 * size if several == 1 else 0.0
    category, lines, block, y = source.text.category(rng), list[TrueLine](), 0, 4 * size
    foot = y + rng.uniform(15, 60) * leading
    small, table, apart = rng.uniform(0.8, 1.0) * size, 0, rng.choice([0.0, 0.5, 1.0])

    def put(words: int, x: float, role: str = "text", scale: float = size) -> float:
        text = source.text.phrase(rng, category, words)
        return put_line(lines, text, (x, right, y), scale, Place(block, ROLES.index(role)))

    def text(x: float = 0.0, rows: int = 0) -> None:
        nonlocal y
        x, rows = x or left, rows or rng.randint(1, 8)
        for row in range(rows):
            put(rng.randint(1, 12) if row == rows - 1 else 40, x)
            y += leading

    def hung() -> None:
        nonlocal block, y
        x = put(rng.randint(1, 4), left) + 0.3 * size
        for row in range(rng.choice([0, 1, 2, 4, 9])):
            y += leading if row else 0.0
            put(8, x)
        y, block = y + leading, block + 1
        if rng.random() < 0.75:
            text(left + 3 * size, rng.choice([1, 2, 4]))

    def program() -> None:
        nonlocal y
        for _ in range(rng.randint(1, 14)):
            put(rng.randint(1, 7), left + rng.choice([0, 2, 2, 4]) * small, "code", small)
            y += leading * small / size

    def columns(role: str) -> None:
        nonlocal y, table
        table, count, gap = table + 1, rng.randint(2, 9), rng.uniform(1, rng.choice([5, 5, 5, 15]))
        most = [rng.choice([rng.randint(1, 4), rng.randint(6, 16)]) for _ in range(count)]
        most = [rng.randint(6, 16)] * count if rng.random() < 0.4 else most
        x, full = left + rng.choice([0, 2, 4]) * small, rng.choice([1.0, 1.0, 0.95, 0.7])
        stops = [x + CHAR * small * (sum(most[:n]) + n * gap) for n in range(count)]
        for row in range(rng.randint(2, 45)):
            for column, (chars, at) in enumerate(zip(most, stops, strict=True)):
                if at + CHAR * small * chars > right + over or rng.random() > full:
                    continue
                words = source.text.phrase(rng, category, max(1, chars // 6))
                cell = words[:chars].strip() if chars > 4 else f"{rng.randrange(10**chars)}"
                own = (table, (row, row), (column, column)) if role == "table cell" else ()
                place = Place(block, ROLES.index(role), *own)
                put_line(lines, cell, (at, right + 3 * over, y), small, place)
            y += leading * small / size

    def contents() -> None:
        nonlocal y
        words, dotted = rng.choice([1, 2, 5]), rng.random() < 0.5
        for _ in range(rng.randint(3, 45)):
            x = put(rng.randint(1, words), left + rng.choice([0, 0, 0, 2]) * size, "contents") + size
            number, place = f"{rng.randint(1, 900)}", Place(block, ROLES.index("contents"))
            at = right - 0.55 * size * len(number)
            if dotted and at > x + 2 * size:
                put_line(lines, "." * int((at - x) / (0.3 * size) - 1), (x, at, y), size, place)
            put_line(lines, number, (max(x, at), right + over, y), size, place)
            y += leading

    def speeches() -> None:
        nonlocal y, block
        names = [source.text.phrase(rng, category, rng.choice([1, 1, 2])).upper() for _ in range(4)]
        way, indent, stop = rng.choice(["over", "beside", "hung"]), rng.uniform(1, 7) * size, rng.choice(".:")
        for _ in range(rng.randint(3, 20)):
            name, block = rng.choice(names) + stop, block + 1
            at = (left + right) / 2 - 0.3 * size * len(name) if way == "over" else left
            end = put_line(lines, name, (at, right, y), size, Place(block, 0)) + rng.uniform(0.4, 3) * size
            y += leading if way == "over" else 0.0
            for row in range(rng.choice([1, 1, 2, 2, 5])):
                put(40 if rng.random() < 0.5 else 7, left + indent if way == "over" or row else end)
                y += leading

    def valued() -> None:
        nonlocal y, block
        x, edge = left + rng.choice([0.0, 0.0, 0.4]) * (right - left), right - rng.choice([0, 0, 9]) * size
        kind, mark, flush = rng.randrange(4), rng.choice(["", "", "€", "EUR", "$"]), rng.random() < 0.6
        before, alone, stop = rng.random() < 0.3, rng.random() < 0.5, rng.choice(["", "", ":"])
        for _ in range(rng.choice([1, 1, 2, 3, 5])):
            value = rng.choice("-./ ").join(f"{rng.randrange(10**n)}" for n in (rng.randint(2, 5), 2, 2, 4))
            if kind:  # an amount
                value = amount(10 ** rng.uniform(0, 5), comma=kind > 1) + f" {mark}" * (not before)
            name = source.text.phrase(rng, category, rng.randint(1, 3)) + stop
            name = f"{name} {mark}" if before and kind else name
            place = Place(block, ROLES.index("form"))
            end = put_line(lines, name, (x, right, y), size, place) + 0.3 * size
            at = edge - width_of(value) * size if flush else rng.choice([end, x + 9 * size])
            put_line(lines, value, (max(end, at), right + over, y), size, place)
            y, block = y + leading, block + alone

    if rng.random() < 0.5:  # a running head, the page's number at its end
        put(rng.randint(1, 5), left, "page header")
        place, number = Place(block, ROLES.index("page number")), f"{rng.randint(1, 900)}"
        put_line(lines, number, (right - 0.55 * size * len(number), right + size, y), size, place)
        y += rng.uniform(1.5, 3.0) * leading
    named, larger = rng.choice([0.0, 0.3, 0.8]), rng.choice([1.0, 1.0, 1.2]) * size
    tabular = partial(columns, "code"), partial(columns, "table cell")
    kinds = (text, hung, program, *tabular, contents, speeches, valued)
    top, last, shares = y, y, [rng.random() ** 3 for _ in kinds]
    for column in range(several):
        left, right, y = column * width + gutter, (column + 1) * width - gutter, top
        while y < foot and len(lines) < 330:
            block += 1
            if rng.random() < named:
                y += rng.uniform(0.0, 1.0) * leading
                put(rng.randint(1, 6), left, "heading 2", larger)
                y, block = y + rng.uniform(1.0, 2.0) * leading, block + 1
            rng.choices(kinds, shares)[0]()
            y += rng.uniform(0.3, 1.0) * apart * leading
        last, block = max(last, y), block + 1
    high = max(last + 4 * size, rng.uniform(0, 1.4) * width)
    return LinePage.of("explained", (several * width, high), lines)
