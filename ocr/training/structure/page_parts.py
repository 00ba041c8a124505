"""Parts of composed pages: their lines with their truth, and moved to where they stand on a page."""

import random
from collections.abc import Sequence
from dataclasses import replace

from ocr.line_reader.structure_network import ROLES
from ocr.training.pages.compose import compose
from ocr.training.pages.genres import GENRES, Form
from ocr.training.pages.page_source import PageSource
from ocr.training.structure.placed_lines import LinePage, next_block, put_line, wrapped
from ocr.training.structure.true_lines import Place, TrueLine, true_lines, true_rules

NAMED = {genre.name: genre for genre in GENRES}
_LIST_SHARE, _CHART_SHARE = 0.22, 0.03  # of parts
_INNER = ("mixed", "book", "paper", "manual", "letter", "form", "tables", "card", "contents", "slides")


def single(rng: random.Random, source: PageSource, form: Form) -> LinePage:
    """Returns a page of one genre, as typeset. Raises what USELESS_DRAW names."""
    sheet = compose(rng, source, form)
    size_pt = form.width_pt, form.height_pt
    return LinePage.of(form.genre.name, size_pt, true_lines(sheet), true_rules(sheet))


def part(rng: random.Random, source: PageSource, width_pt: float, size_pt: float) -> LinePage:
    """Returns the lines of a small page without furniture, of a diagram, of a list of names or of items with marks."""
    if rng.random() < _CHART_SHARE:
        return _chart(rng, source, width_pt, size_pt)
    if rng.random() < _LIST_SHARE:
        lines, leading = list[TrueLine](), rng.uniform(1.3, 2.6) * size_pt
        category = source.text.category(rng)
        mark, at = rng.choice(["", "", "•", "–", "▪", "{}.", "({})"]), rng.uniform(0.8, 3.5) * size_pt
        y, role, most = 0.0, ROLES.index("list item" if mark else "text"), rng.choice([4, 20]) if mark else 3
        for row in range(rng.randint(3, 14)):
            text = source.text.phrase(rng, category, rng.randint(1, most))
            place = Place(row * bool(mark), role)
            x = put_line(lines, mark.format(row + 1), (0.0, width_pt, y), size_pt, place) if mark else 0.0
            for part in wrapped(text, (width_pt - at) / size_pt) if mark else [text]:
                put_line(lines, part, (max(x, at), width_pt, y), size_pt, place)
                x, y = 0.0, y + (1.2 * size_pt if mark else leading)
            y += leading - 1.2 * size_pt if mark else 0.0
        return LinePage.of("list", (width_pt, width_pt), lines)
    name = rng.choice(_INNER)
    form = Form(
        genre=NAMED[name], width_pt=width_pt * 1.12, height_pt=rng.uniform(0.15, 0.7) * 600,
        size_pt=size_pt * rng.choice([1.0, 1.0, 1.0, 0.85]),
        columns=2 if width_pt > 30 * size_pt and rng.random() < 0.3 else 1,
        fill=rng.choice([0.9, 0.5, 0.2, 0.05]), furniture=False,
    )  # fmt: skip
    return single(rng, source, form)


def _chart(rng: random.Random, source: PageSource, width_pt: float, size_pt: float) -> LinePage:
    """Returns the lines of a diagram: its name, figures beside it from the top, names in it, what stands below it."""
    size, category, lines = rng.uniform(0.6, 1.0) * size_pt, source.text.category(rng), list[TrueLine]()
    wide, count, across = rng.uniform(0.3, 0.9) * width_pt, rng.randint(3, 9), rng.randint(2, 7)
    high, left = max(1.4 * count * size, rng.uniform(0.3, 1.0) * wide), 3 * size
    step, lowest = rng.choice([1, 2, 5]) * 10 ** rng.randint(-2, 3), rng.choice([0, 1, count // 2])

    def put(text: str, x: float, y: float, block: int) -> None:
        text = text or source.text.phrase(rng, category, rng.randint(1, 3))
        put_line(lines, text, (x, x + wide / (across if block == 8 else 1), y), size, Place(block, 0))

    for y in (-size, 0.5 * size)[: rng.choice([0, 0, 1, 2])]:
        put("", left + rng.choice([0.0, 0.3]) * wide, y - 1.5 * size, 0)
    for row in range(count):
        text = f"{step * (count - row - lowest):g}"
        put(text, max(0.0, left - 0.6 * size * len(text)), high * (row + 0.5) / count, 1)
    for block, y in enumerate(sorted(rng.random() for _ in range(rng.choice([0, 0, 2, 4]))), 2):
        put("", left + rng.uniform(0.1, 0.8) * wide, y * high, block)
    named, first = rng.random() < 0.4, rng.choice([0, 0, 1990])
    for column in range(across):
        text = "" if named else f"{first + column if first else column * step:g}"
        put(text, left + column / across * wide, high + 1.5 * size, 8)
    if rng.random() < 0.6:
        put("", left + rng.uniform(0.2, 0.6) * wide, high + 3 * size, 9)
    return LinePage.of("chart", (width_pt, high + 4 * size), lines)


def moved(page: LinePage, x: float, top: float, before: Sequence[TrueLine]) -> LinePage:
    """Returns a part with the upper left corner of its lines elsewhere, numbered after those before."""
    right = x - min(line.x0 for line in page.lines)
    down = top - min(line.base - 0.8 * line.size for line in page.lines)
    block = next_block(before)
    table = max((line.place.table for line in before), default=0) + 1
    lines = tuple(
        replace(
            shifted(line, right, line.base + down, 1.0),
            place=replace(
                line.place,
                block=line.place.block + block,
                table=line.place.table + table if line.place.table >= 0 else -1,
            ),
        )
        for line in page.lines
    )
    rules = tuple((x0 + right, y0 + down, x1 + right, y1 + down) for x0, y0, x1, y1 in page.rules)
    return replace(page, lines=lines, rules=rules)


def shifted(line: TrueLine, x: float, base: float, scale: float) -> TrueLine:
    """Returns a line with its origin at x and its baseline at base, as wide as this share."""
    words = tuple((x + scale * a, x + scale * b) for a, b in line.words)
    return replace(line, x0=words[0][0], x1=words[-1][1], words=words, base=base)
