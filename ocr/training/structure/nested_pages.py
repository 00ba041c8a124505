"""Pages of several parts: bands and regions, open books, newspapers."""

import random
from dataclasses import replace
from itertools import pairwise

from ocr.line_reader.structure_network import ROLES
from ocr.training.pages.genres import Form
from ocr.training.pages.page_source import PageSource
from ocr.training.structure.page_parts import NAMED, moved, part, shifted, single
from ocr.training.structure.placed_lines import MOST, LinePage, frame, next_block, put_line
from ocr.training.structure.true_lines import Box, Place, TrueLine

_BAR_SHARE = 0.15  # of the bands, under a row of names


def nested(rng: random.Random, source: PageSource) -> LinePage:
    """Returns bands one below the other, each of up to three regions side by side, a region of up to two parts.

    Bands are further apart than parts, so that the page shows what belongs together.
    """
    width, size = rng.choice([595.0, 612.0, 842.0, 700.0]), rng.uniform(6.0, 10.0)
    gap, between = rng.uniform(1.0, 4.0) * size, rng.uniform(0.8, 1.5) * size
    lines, rules = list[TrueLine](), list[Box]()
    y, least = rng.uniform(0.03, 0.08) * width, rng.uniform(0.04, 0.1) * width
    framed, parted, banded = (rng.choice([0.0, 0.0, 0.3, 1.0]) for _ in range(3))
    for _ in range(rng.randint(1, 4)):
        if rng.random() < _BAR_SHARE:
            bar = least, y - size, width - least, y + 0.5 * size
            _bar(rng, source, lines, (*bar[:3], y), size)
            rules += frame(bar, "tb") if rng.random() < banded else []
            y += rng.uniform(1.2, 3.5) * size
        shares = [rng.choice([1.0, 1.0, 1.5, 2.0]) for _ in range(rng.choice([1, 2, 2, 3]))]
        x, foot = least, y
        for share in shares:
            wide = (width - 2 * least - gap * (len(shares) - 1)) * share / sum(shares)
            top = y
            for _ in range(rng.choice([1, 1, 1, 2])):
                placed = moved(part(rng, source, wide, size), x, top, lines)
                lines += placed.lines
                rules += placed.rules
                end = max(line.base for line in placed.lines) + 0.25 * size
                if rng.random() < framed:
                    rules += frame(
                        (x - 0.4 * gap, top - 0.3 * between, x + wide + 0.4 * gap, end + 0.4 * between)
                    )
                top = end + between
            foot, x = max(foot, top - between), x + wide + gap
            if rng.random() < parted:
                rules += frame((x - gap / 2, y, x - gap / 2, foot), "l")
        y = foot + rng.uniform(1.5, 4.0) * size
        rules += frame((least, y - 1.2 * size, width - least, y), "t") if rng.random() < banded else []
    return LinePage.of("nested", (width, y + least), lines, rules)


def _bar(rng: random.Random, source: PageSource, lines: list[TrueLine], box: Box, size_pt: float) -> None:
    """Adds a row of names far apart, as of a menu or over a page. box: around it."""
    left, _, right, base = box
    count, category = rng.randint(2, 7), source.text.category(rng)
    place = Place(next_block(lines), ROLES.index("text"))
    shares = [rng.uniform(0.3, 1.0) for _ in range(count)]
    if rng.random() < 0.3:  # some at the right end
        shares[rng.randrange(count)] += 2.0
    edges = [left + (right - left) * sum(shares[:n]) / sum(shares) for n in range(count + 1)]
    for start, end in pairwise(edges):
        text = source.text.phrase(rng, category, rng.choice([1, 1, 2, 3]))
        put_line(lines, text, (start, end - size_pt, base), size_pt, place)


def spreads(rng: random.Random, source: PageSource) -> LinePage:
    """Returns two pages side by side, as of an open book, each with a head and a foot of its own, level on most."""
    width, height, lines, rules = rng.uniform(280, 420), rng.uniform(400, 620), list[TrueLine](), list[Box]()
    size, top, is_level = rng.uniform(7.0, 11.0), 0.0, rng.random() < 0.7
    genre = replace(
        NAMED[rng.choice(["book", "book", "paper", "manual"])], headers=rng.choice([0.35, 1.0, 1.0])
    )
    for number in range(2):
        fill = rng.choice([1.2, 1.2, 0.9, 0.5])
        form = Form(genre=genre, width_pt=width, height_pt=height, size_pt=size, columns=1, fill=fill)
        page = single(rng, source, form)
        left = min(line.x0 for line in page.lines)
        if not top or not is_level:
            top = min(line.base - 0.8 * line.size for line in page.lines)
        placed = moved(page, number * width + left, top, lines)
        lines += placed.lines
        rules += placed.rules
    return LinePage.of("spreads", (2 * width, height), lines, rules)


def articles(rng: random.Random, source: PageSource) -> LinePage:
    """Returns a newspaper's page: articles beside and below each other, each under a headline over its columns."""
    count, size = rng.randint(3, 6), rng.uniform(5.5, 8.5)
    wide, gap = rng.uniform(13, 24) * size, rng.uniform(0.8, 2.6) * size
    left, step = rng.uniform(2, 6) * size, wide + gap
    high = min(rng.uniform(60, 220), 1.3 * MOST / count) * size
    whole = rng.random() < 0.2  # one article, as of a sheet or a register
    category, lines, rules = source.text.category(rng), list[TrueLine](), list[Box]()
    width, ruled = 2 * left + count * step - gap, rng.random() < 0.4
    parted, under = rng.choice([0.0, 0.0, 0.5, 1.0]), rng.random() < 0.5

    def headline(first: int, last: int, y: float, scale: float, role: str) -> float:
        x, right = left + first * step, left + last * step - gap
        place = Place(next_block(lines), ROLES.index(role))
        for _ in range(rng.choice([1, 1, 2])):
            y += 1.15 * scale * size
            text = source.text.phrase(rng, category, rng.randint(2, 4 * (last - first)))
            put_line(lines, text, (x, right, y), scale * size, place)
        return y + rng.uniform(0.3, 1.0) * size

    def article(first: int, last: int, y: float, foot: float) -> float:
        if rng.random() < 0.85:
            y = headline(first, last, y, rng.uniform(1.0, 3.5), rng.choice(["heading 1", "heading 2"]))
        form = Form(
            genre=NAMED["book"], width_pt=1.2 * wide,
            height_pt=1.3 * max(foot - y, 8 * size) * (last - first), size_pt=size, columns=1, fill=1.2,
            furniture=False,
        )  # fmt: skip
        text = moved(single(rng, source, form), 0.0, 0.0, lines).lines
        scale = min(1.25, max(0.8, wide / max(line.x1 for line in text)))
        tall = min(max(foot - y, 8 * size), (text[-1].base + 0.1) / (last - first) + 0.5 * size)
        end = y
        for number in range(first + 1, last):
            x = left + number * step - gap / 2
            rules.extend(frame((x, y, x, y + tall), "l") if ruled else [])
        for line in text:
            column, below = divmod(line.base, tall)
            if column < last - first:
                lines.append(shifted(line, left + (first + column) * step, y + below, scale))
                end = max(end, y + below)
        return end

    def fill(first: int, last: int, y: float, foot: float) -> float:
        while foot - y > 12 * size:
            end = foot if whole else min(foot, y + rng.uniform(0.15, 0.8) * high)
            if last - first > 1 and not whole and rng.random() < 0.35:
                middle = rng.randint(first + 1, last - 1)
                at, start = left + middle * step - gap / 2, y
                y = max(fill(first, middle, y, end), fill(middle, last, y, end))
                rules.extend(frame((at, start, at, y), "l") if ruled else [])
            else:
                y = article(first, last, y, end)
            y += rng.uniform(1.5, 3.0) * size
            if rng.random() < parted:
                at = y - 1.2 * size
                rules.extend(frame((left + first * step, at, left + last * step - gap, at), "t"))
        return y

    top = headline(0, count, left, rng.uniform(3, 6), "title") if rng.random() < 0.6 else left
    rules += frame((left, top + size, width - left, top + size), "t") if under else []
    foot = fill(0, count, top + 2 * size, top + high)
    return LinePage.of("articles", (width, foot + left), lines, rules)


def noted(rng: random.Random, source: PageSource) -> LinePage:
    """Returns a page of text with notes beside it, read after it; many begin level with a line."""
    width, size = rng.uniform(300, 460), rng.uniform(7.0, 11.0)
    form = Form(
        genre=NAMED[rng.choice(["book", "book", "mixed"])],
        width_pt=width, height_pt=width * rng.uniform(0.2, 1.5), size_pt=size, columns=1, fill=1.0, furniture=False,
    )  # fmt: skip
    page, small = single(rng, source, form), size * rng.uniform(0.7, 1.0)
    is_left, room = rng.random() < 0.3, rng.uniform(6, 16) * small
    x = rng.uniform(1.0, 5.0) * size
    lines = list(moved(page, x + room + 2 * size if is_left else x, 3 * size, ()).lines)
    x = x if is_left else max(line.x1 for line in lines) + rng.uniform(1.5, 8.0) * size
    beside = [line.base for line in lines]
    top, foot = beside[0], beside[-1]
    level = [rng.uniform(top, foot), *(rng.choice(beside) for _ in range(2))]
    for at in sorted(rng.choice(level) for _ in range(rng.randint(1, 4))):
        last = lines[-1]
        block, y = last.place.block + 1, max(at, last.base + 1.5 * small if last.x0 == x else at)
        for _ in range(rng.choice([1, 1, 2, 4])):
            text = source.text.phrase(rng, source.text.category(rng), rng.choice([1, 1, 2, 3, 4]))
            put_line(lines, text, (x, x + room, y), small, Place(block, ROLES.index("margin note")))
            y += 1.2 * small
    edge = max(line.x1 for line in lines) + 3 * size
    return LinePage.of("noted", (edge, form.height_pt + 4 * size), lines)
