"""Pages of labels and what belongs to them: forms of boxes, windows of programs."""

import random
from itertools import pairwise

from ocr.line_reader.structure_network import ROLES
from ocr.training.pages.page_source import PageSource
from ocr.training.structure.page_parts import moved, part
from ocr.training.structure.placed_lines import LinePage, frame, next_block, put_line
from ocr.training.structure.true_lines import Box, Place, TrueLine


def boxes(rng: random.Random, source: PageSource) -> LinePage:
    """Returns a form of boxes: rows of labels, each with what was filled in below or beside it.

    Boxes may stand one above the other beside a higher one; a label may have two lines, an answer several.
    """
    width, size = rng.choice([595.0, 612.0, 420.0]), rng.uniform(6.0, 9.0)
    category = source.text.category(rng)
    left, lines, rules, block = rng.uniform(0.05, 0.1) * width, list[TrueLine](), list[Box](), 0
    y = rng.uniform(0.05, 0.15) * width
    for scale in (rng.uniform(1.2, 2.5), 1.0)[: rng.randint(0, 2)]:
        text, block = source.text.phrase(rng, category, rng.randint(2, 9)), block + 1
        role = ROLES.index("text" if scale == 1.0 else "title")
        put_line(lines, text, (left, width - left, y), size * scale, Place(block, role))
        y += rng.uniform(1.5, 2.5) * size
    answer, numbered = rng.choice([1.0, 1.0, 1.2, 1.35, 1.7]), rng.random() < 0.4
    below = rng.uniform(1.15, 2.2) * max(1.0, 0.8 * answer)
    beside, filled, long = rng.random() < 0.25, rng.choice([0.95, 0.8, 0.4]), rng.choice([0.0, 0.1, 0.3])
    sides = rng.choice(["lrtb", "lrtb", "lrtb", "tb", "b", "lr", ""])
    apart = rng.choice([0.0, 0.0, 0.5]) * size
    stacked, pad = rng.choice([0.0, 0.3, 0.6]), rng.uniform(0.25, 0.8) * size

    def put(x: float, room: float, base: float, scale: float, low: int, high: int) -> float:
        text = source.text.phrase(rng, category, rng.randint(low, high))
        return put_line(lines, text, (x, room, base), size * scale, Place(block, ROLES.index("form")))

    def box(x0: float, y0: float, x1: float, y1: float) -> None:
        nonlocal block
        if y1 - y0 > 5 * size and rng.random() < stacked:
            middle = y0 + rng.uniform(0.4, 0.6) * (y1 - y0)
            box(x0, y0, x1, middle)
            box(x0, middle, x1, y1)
            return
        rules.extend(frame((x0 + apart / 2, y0 + apart / 2, x1 - apart / 2, y1 - apart / 2), sides))
        block, x, room = block + 1, x0 + pad, x1 - pad
        base = y0 + 0.9 * size + rng.uniform(0.0, 0.6) * size
        if numbered:
            own = f"{block}" + rng.choice(["", ".", "a"])
            x = put_line(lines, own, (x, room, base), size, Place(block, ROLES.index("form"))) + 0.5 * size
        end = put(x, room, base, 1.0, 1, 4)
        if y1 - base > 4 * size and rng.random() < long:
            base += 1.15 * size
            end = put(x, room, base, 1.0, 1, 5)
        if rng.random() < filled:
            start, base = (
                (end + size, base) if beside else (x + rng.uniform(0, 1) * size, base + below * size)
            )
            while base < y1 + 0.2 * size:
                put(start, room, base, answer, 1, 5)
                base += 1.25 * answer * size
                if rng.random() > 0.5:
                    break

    most, whole = rng.choice([2, 2, 3, 4, 6]), rng.choice([0, 0.1, 0.3, 0.6])
    alike = rng.uniform(2.6, 4.8) * max(1.0, 0.8 * answer) * size
    for _ in range(rng.randint(3, 16)):
        if rng.random() < 0.06:  # what the boxes below are about
            block, y = block + 1, y + 1.6 * size
            put(left + pad, width - left, y - 0.4 * size, rng.choice([1.0, 1.2]), 1, 6)
        across = 1 if rng.random() < whole else rng.randint(2, most)
        high = alike if rng.random() < 0.7 else rng.uniform(2.6, 12.0) * size
        shares = [1.0 if rng.random() < 0.8 else rng.uniform(0.5, 1.5) for _ in range(across)]
        edges = [left + (width - 2 * left) * sum(shares[:n]) / sum(shares) for n in range(across + 1)]
        for start, end in pairwise(edges):
            box(start, y, end, y + high)
        y += high
    y += rng.uniform(0.5, 3) * size
    for _ in range(rng.choice([0, 0, 1, 3])):  # ticks and what is said at the foot
        block, y = block + 1, y + rng.uniform(1.3, 2.2) * size
        put(left + rng.choice([0.0, 2.0]) * size, width - left, y, 1.0, 2, 8)
    return LinePage.of("boxes", (width, max(y + 40, width)), lines, rules)


def screen(rng: random.Random, source: PageSource) -> LinePage:
    """Returns a window: bars of names above, lists at a side, in the middle labels with fields, tables or text."""
    width, size = rng.choice([480.0, 640.0, 800.0, 960.0]), rng.uniform(7.0, 10.0)
    height, category = width * rng.uniform(0.5, 0.8), source.text.category(rng)
    lines, rules, y = list[TrueLine](), list[Box](), rng.uniform(1.0, 2.5) * size
    lined = rng.choice([0.0, 0.5, 1.0])

    def put(x: float, room: float, base: float, block: int, role: str = "text", most: int = 3) -> float:
        text = source.text.phrase(rng, category, rng.randint(1, most))
        return put_line(lines, text, (x, room, base), size, Place(block, ROLES.index(role)))

    def names(x: float, room: float, top: float, foot: float) -> None:
        base, step, block = top + size, rng.uniform(1.4, 2.8) * size, next_block(lines)
        indent = rng.choice([0.0, 0.0, 1.5]) * size
        for row in range(rng.randint(3, 18)):
            if base < foot:
                put(x + (indent if row and rng.random() < 0.7 else 0.0), room, base, block)
            base += step if rng.random() < 0.9 else 2 * step

    if rng.random() < 0.8:  # of the window, of its menus, of its buttons
        put(size if rng.random() < 0.6 else 0.4 * width, width - size, y, next_block(lines), "title", 6)
        y += rng.uniform(1.8, 3.0) * size
    for _ in range(rng.choice([1, 1, 2])):
        gap, x, block, dense = rng.uniform(1.2, 4.0) * size, size, next_block(lines), rng.random() < 0.7
        for _ in range(rng.randint(3, 9)):
            if x < width - 4 * size:
                x = put(x, width - size, y, block, most=2) + (gap if dense else rng.uniform(1, 3) * gap)
        rules += frame((0.0, y + size, width, y + size), "t") if rng.random() < lined else []
        y += rng.uniform(1.8, 3.2) * size
    barred, full = rng.random() < 0.4, rng.choice([1.0, 1.0, 0.5])
    x0, x1, foot = size, width - size, height - (5.0 if barred else 2.5) * size
    wide = rng.uniform(0.14, 0.3) * width
    if rng.random() < 0.7:
        names(x0, x0 + wide, y, foot)
        rules += frame((x0 + wide, y - size, x0 + wide, foot), "l") if rng.random() < lined else []
        x0 += wide + rng.uniform(0.8, 2.5) * size
    right = x1 - rng.uniform(0.15, 0.25) * width if rng.random() < 0.25 else x1
    top = y
    while y < full * foot - 4 * size or y == top:
        if rng.random() < 0.5:  # labels and fields
            at, block, step = x0 + rng.uniform(8, 16) * size, next_block(lines), rng.uniform(1.8, 3.2) * size
            boxed, under = rng.random() < 0.5, rng.random() < 0.3
            for _ in range(rng.randint(2, 8)):
                base, block = y + size, block + 1
                put(x0, right if under else at - 0.5 * size, base, block, "form")
                base += step if under else 0.0
                x = x0 if under else at
                if rng.random() < 0.85:
                    put(x, right, base, block, "form", 4)
                rules += frame((x - 0.4 * size, base - 1.3 * size, right, base + 0.7 * size)) if boxed else []
                y = base + step - size
                if y > foot - 2 * size:
                    break
        else:
            placed = moved(part(rng, source, max(right - x0, 12 * size), size), x0, y, lines)
            lines += [line for line in placed.lines if line.base < foot]
            rules += [rule for rule in placed.rules if rule[3] < foot]
            y = max(y + 3 * size, max((line.base for line in placed.lines if line.base < foot), default=y))
        y += rng.uniform(1.5, 3.0) * size
    if right < x1:
        names(right + 1.5 * size, x1, top, foot)
    # Buttons; below them how things stand.
    for bar in range(1 + barred) if barred or rng.random() < 0.6 else ():
        x, block = rng.choice([x0, rng.uniform(0.4, 0.8) * width]) if not bar else size, next_block(lines)
        base = height - (size if bar or not barred else rng.uniform(3.2, 4.0) * size)
        rules += frame((0.0, base - 1.3 * size, width, base - 1.3 * size), "t") if bar and lined else []
        for _ in range(rng.randint(1, 4)):
            if x < width - 4 * size:
                x = put(x, width - size, base, block, most=2) + rng.uniform(1.5, 5.0) * size
    return LinePage.of("screen", (width, height), lines, rules)
