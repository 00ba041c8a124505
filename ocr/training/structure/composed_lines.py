"""Pages of lines with their truth, composed and not drawn."""

import base64
import random
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from ocr.line_reader.structure_network import ROLES
from ocr.training.pages.compose import compose
from ocr.training.pages.genres import GENRES, Form, draw_form
from ocr.training.pages.page_source import USELESS_DRAW, PageSource
from ocr.training.pictures.source import Pictures
from ocr.training.structure.line_noise import found
from ocr.training.structure.placed_lines import MOST, LinePage, put_line
from ocr.training.structure.table_pages import reference, tight
from ocr.training.structure.true_lines import Place, TrueLine, true_lines

_SHARES = {
    "nested": 0.18,
    "boxes": 0.1,
    "articles": 0.08,
    "entries": 0.12,
    "reference": 0.12,
    "tight": 0.1,
}  # of pages
NAMES = frozenset({genre.name for genre in GENRES} | set(_SHARES))
_LIST_SHARE = 0.16  # of the parts of nested pages
_BAR_SHARE = 0.15  # of the bands of nested pages, under a row of names
_INNER = ("mixed", "book", "paper", "manual", "letter", "form", "tables", "card", "contents", "slides")
_FEWEST = 2  # lines of a page
_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAG7buVgAAAABJRU5ErkJggg=="
)


class _Blank(Pictures):
    def png(self, rng: random.Random, width_px: int, height_px: int) -> bytes:
        return _PIXEL  # the markup says how large it is


def line_source(folder: Path, split: str = "train") -> PageSource:
    """Returns a split of a corpus, whose pictures are blank."""
    source = PageSource(folder, split)
    source.pictures = _Blank(folder / "pictures")
    return source


def line_pages(
    rng: random.Random, source: PageSource, *, uses: int = 1, genres: Collection[str] = NAMES
) -> list[LinePage]:
    """Returns one page as found several times, each time otherwise; none where it cannot be used.

    genres: the names of those that may come, of NAMES; one at least of GENRES.
    """
    try:
        page = composed_page(rng, source, genres)
    except USELESS_DRAW:
        return []
    seen = (replace(page, lines=tuple(found(rng, page.lines, page.width_pt))) for _ in range(uses))
    return [each for each in seen if _FEWEST <= len(each.lines) <= MOST]


def composed_page(rng: random.Random, source: PageSource, genres: Collection[str] = NAMES) -> LinePage:
    """Returns a page's lines as typeset. Raises what USELESS_DRAW names."""
    makers = (_nested, _boxes, _articles, _entries, reference, tight)
    shares = [share if name in genres else 0.0 for name, share in _SHARES.items()]
    [make] = rng.choices((*makers, None), (*shares, 1 - sum(_SHARES.values())))
    if make:
        return make(rng, source)
    form = draw_form(rng)
    while form.genre.name not in genres:
        form = draw_form(rng)
    return _single(rng, source, form)


def _single(rng: random.Random, source: PageSource, form: Form) -> LinePage:
    lines = true_lines(compose(rng, source, form))
    return LinePage(
        genre=form.genre.name, width_pt=form.width_pt, height_pt=form.height_pt, lines=tuple(lines)
    )


def _nested(rng: random.Random, source: PageSource) -> LinePage:
    """Returns bands one below the other, each of up to three regions side by side, a region of up to two parts.

    Bands are further apart than parts, so that the page shows what belongs together.
    """
    width, size = rng.choice([595.0, 612.0, 842.0, 700.0]), rng.uniform(6.0, 10.0)
    gap, between = rng.uniform(1.0, 4.0) * size, rng.uniform(0.8, 1.5) * size
    lines: list[TrueLine] = []
    y, least = rng.uniform(0.03, 0.08) * width, rng.uniform(0.04, 0.1) * width
    for _ in range(rng.randint(1, 4)):
        if rng.random() < _BAR_SHARE:
            _bar(rng, source, lines, (least, width - least, y), size)
            y += rng.uniform(1.2, 3.5) * size
        shares = [rng.choice([1.0, 1.0, 1.5, 2.0]) for _ in range(rng.choice([1, 2, 2, 3]))]
        x, foot = least, y
        for share in shares:
            wide = (width - 2 * least - gap * (len(shares) - 1)) * share / sum(shares)
            top = y
            for _ in range(rng.choice([1, 1, 1, 2])):
                part = _part(rng, source, wide, size)
                lines += (placed := _moved(part, x, top, lines))
                top = max(line.base for line in placed) + 0.25 * size + between
            foot, x = max(foot, top - between), x + wide + gap
        y = foot + rng.uniform(1.5, 4.0) * size
    return LinePage(genre="nested", width_pt=width, height_pt=y + least, lines=tuple(lines))


def _bar(
    rng: random.Random,
    source: PageSource,
    lines: list[TrueLine],
    ends: tuple[float, float, float],
    size_pt: float,
) -> None:
    """Adds a row of names far apart, as of a menu or over a page. ends: its left, its right, its baseline."""
    left, right, base = ends
    count, category = rng.randint(2, 7), source.text.category(rng)
    place = Place(max((line.place.block for line in lines), default=0) + 1, ROLES.index("text"))
    shares = [rng.uniform(0.3, 1.0) for _ in range(count)]
    if rng.random() < 0.3:  # some at the right end
        shares[rng.randrange(count)] += 2.0
    edges = [left + (right - left) * sum(shares[:n]) / sum(shares) for n in range(count + 1)]
    for start, end in pairwise(edges):
        text = source.text.phrase(rng, category, rng.choice([1, 1, 2, 3]))
        put_line(lines, text, (start, end - size_pt, base), size_pt, place)


def _part(rng: random.Random, source: PageSource, width_pt: float, size_pt: float) -> Sequence[TrueLine]:
    """Returns the lines of a small page without furniture, or of a list of names as beside a screen's tables."""
    if rng.random() < _LIST_SHARE:
        lines, leading = list[TrueLine](), rng.uniform(1.3, 2.6) * size_pt
        category = source.text.category(rng)
        for row in range(rng.randint(3, 14)):
            text = source.text.phrase(rng, category, rng.randint(1, 3))
            put_line(lines, text, (0.0, width_pt, row * leading), size_pt, Place(0, ROLES.index("text")))
        return lines
    name = rng.choice(_INNER)
    form = Form(
        genre=next(genre for genre in GENRES if genre.name == name),
        width_pt=width_pt * 1.12,
        height_pt=rng.uniform(0.15, 0.7) * 600,
        size_pt=size_pt * rng.choice([1.0, 1.0, 1.0, 0.85]),
        columns=2 if width_pt > 30 * size_pt and rng.random() < 0.3 else 1,
        fill=rng.choice([0.9, 0.5, 0.2, 0.05]),
        furniture=False,
    )
    return _single(rng, source, form).lines


def _moved(part: Sequence[TrueLine], x: float, top: float, before: Sequence[TrueLine]) -> list[TrueLine]:
    """Returns lines of a part with their upper left corner elsewhere, numbered after those before."""
    right, down = x - min(line.x0 for line in part), top - min(line.base - 0.8 * line.size for line in part)
    block = max((line.place.block for line in before), default=0) + 1
    table = max((line.place.table for line in before), default=0) + 1
    return [
        replace(
            _shifted(line, right, line.base + down, 1.0),
            place=replace(
                line.place,
                block=line.place.block + block,
                table=line.place.table + table if line.place.table >= 0 else -1,
            ),
        )
        for line in part
    ]


def _boxes(rng: random.Random, source: PageSource) -> LinePage:
    """Returns a form of boxes: rows of labels, each with what was filled in below or beside it."""
    width, size = rng.choice([595.0, 612.0, 420.0]), rng.uniform(6.0, 9.0)
    category = source.text.category(rng)
    left, lines, block = rng.uniform(0.05, 0.1) * width, list[TrueLine](), 0
    y = rng.uniform(0.05, 0.15) * width
    for scale in (rng.uniform(1.2, 2.5), 1.0)[: rng.randint(0, 2)]:
        text, block = source.text.phrase(rng, category, rng.randint(2, 9)), block + 1
        role = ROLES.index("text" if scale == 1.0 else "title")
        put_line(lines, text, (left, width - left, y), size * scale, Place(block, role))
        y += rng.uniform(1.5, 2.5) * size
    answer = rng.choice([1.0, 1.2, 1.35])
    beside, filled = rng.random() < 0.25, rng.choice([0.95, 0.8, 0.4])

    def put(x: float, base: float, scale: float, low: int, high: int) -> float:
        text = source.text.phrase(rng, category, rng.randint(low, high))
        return put_line(lines, text, (x, room, base), size * scale, Place(block, ROLES.index("form")))

    most, whole, alike = rng.choice([2, 3, 4]), rng.choice([0.1, 0.3, 0.6]), rng.uniform(2.6, 4.2) * size
    for _ in range(rng.randint(3, 16)):
        across = 1 if rng.random() < whole else rng.randint(2, most)
        high = alike if rng.random() < 0.7 else rng.uniform(2.6, 6.0) * size
        shares = [1.0 if rng.random() < 0.8 else rng.uniform(0.5, 1.5) for _ in range(across)]
        edges = [left + (width - 2 * left) * sum(shares[:n]) / sum(shares) for n in range(across + 1)]
        for start, end in pairwise(edges):
            block, x = block + 1, start + 0.4 * size
            room = end - 0.5 * size
            end = put(x, y + 1.0 * size, 1.0, 1, 4)
            if rng.random() < filled:
                at = (end + size, y + size) if beside else (x + rng.uniform(0, 1) * size, y + 2.3 * size)
                put(*at, answer, 1, 5)
        y += high
    y += rng.uniform(0.5, 3) * size
    for _ in range(rng.choice([0, 0, 1, 3])):  # ticks and what is said at the foot
        block, y = block + 1, y + rng.uniform(1.3, 2.2) * size
        put(left + rng.choice([0.0, 2.0]) * size, y, 1.0, 2, 8)
    return LinePage(genre="boxes", width_pt=width, height_pt=max(y + 40, width), lines=tuple(lines))


def _articles(rng: random.Random, source: PageSource) -> LinePage:
    """Returns a newspaper's page: articles beside and below each other, each under a headline over its columns."""
    count, size = rng.randint(3, 6), rng.uniform(5.5, 8.5)
    wide, gap = rng.uniform(13, 24) * size, rng.uniform(0.8, 2.0) * size
    left, step, high = rng.uniform(2, 6) * size, wide + gap, rng.uniform(60, 120) * size
    category, lines = source.text.category(rng), list[TrueLine]()
    width = 2 * left + count * step - gap

    def headline(first: int, last: int, y: float, scale: float, role: str) -> float:
        x, right = left + first * step, left + last * step - gap
        place = Place(max((line.place.block for line in lines), default=0) + 1, ROLES.index(role))
        for _ in range(rng.choice([1, 1, 2])):
            y += 1.15 * scale * size
            text = source.text.phrase(rng, category, rng.randint(2, 4 * (last - first)))
            put_line(lines, text, (x, right, y), scale * size, place)
        return y + rng.uniform(0.3, 1.0) * size

    def article(first: int, last: int, y: float, foot: float) -> float:
        if rng.random() < 0.85:
            y = headline(first, last, y, rng.uniform(1.0, 3.5), rng.choice(["heading 1", "heading 2"]))
        form = Form(
            genre=next(genre for genre in GENRES if genre.name == "book"), width_pt=1.2 * wide,
            height_pt=1.3 * max(foot - y, 8 * size) * (last - first), size_pt=size, columns=1, fill=1.2,
            furniture=False,
        )  # fmt: skip
        part = _moved(_single(rng, source, form).lines, 0.0, 0.0, lines)
        scale = min(1.25, max(0.8, wide / max(line.x1 for line in part)))
        tall = min(max(foot - y, 8 * size), (part[-1].base + 0.1) / (last - first) + 0.5 * size)
        end = y
        for line in part:
            column, below = divmod(line.base, tall)
            if column < last - first:
                lines.append(_shifted(line, left + (first + column) * step, y + below, scale))
                end = max(end, y + below)
        return end

    def fill(first: int, last: int, y: float, foot: float) -> float:
        while foot - y > 12 * size:
            end = min(foot, y + rng.uniform(0.15, 0.8) * high)
            if last - first > 1 and rng.random() < 0.35:
                middle = rng.randint(first + 1, last - 1)
                y = max(fill(first, middle, y, end), fill(middle, last, y, end))
            else:
                y = article(first, last, y, end)
            y += rng.uniform(1.5, 3.0) * size
        return y

    top = headline(0, count, left, rng.uniform(3, 6), "title") if rng.random() < 0.6 else left
    foot = fill(0, count, top + 2 * size, top + high)
    return LinePage(genre="articles", width_pt=width, height_pt=foot + left, lines=tuple(lines))


def _shifted(line: TrueLine, x: float, base: float, scale: float) -> TrueLine:
    """Returns a line with its origin at x and its baseline at base, as wide as this share."""
    words = tuple((x + scale * a, x + scale * b) for a, b in line.words)
    return replace(line, x0=words[0][0], x1=words[-1][1], words=words, base=base)


def _entries(rng: random.Random, source: PageSource) -> LinePage:
    """Returns a catalogue's page: entries with a number at the left and a price at the right, under centred names."""
    width, size = rng.uniform(300, 600), rng.uniform(7.0, 12.0)
    left, right = rng.uniform(0.06, 0.15) * width, width * rng.uniform(0.85, 0.95)
    indent, y, number = left + rng.uniform(2.0, 5.0) * size, rng.uniform(3, 12) * size, rng.randint(1, 900)
    leading, category, lines = rng.uniform(1.15, 1.6) * size, source.text.category(rng), list[TrueLine]()
    priced, numbered, named = rng.choice([1.0, 0.8, 0.5, 0.0]), rng.choice([1.0, 0.8, 0.0]), rng.random()
    dots, centred, words = rng.random() < 0.2, rng.random() < 0.6, rng.choice([2, 6])
    apart, stop = rng.choice([0.0, 0.4, 1.0]) * size, rng.choice([".", ".", "", ")"])

    def put(text: str, x: float, room: float, block: int, role: str) -> float:
        return put_line(lines, text, (x, room, y), size, Place(block, ROLES.index(role)))

    if rng.random() < 0.4:
        put("No.", left, right, 0, "text")
        put("Fr.", right - 2 * size, right, 0, "text")
        y += leading + apart

    for block in range(1, rng.randint(6, 36)):
        if rng.random() < named:
            y += apart + rng.uniform(0, 0.8) * size
            text = source.text.phrase(rng, category, rng.randint(1, words))
            middle = (left + right - 0.5 * size * len(text)) / 2
            x = max(left, middle) if centred else left + rng.uniform(0.1, 0.3) * (right - left)
            put(text, x, right, 2 * block, "heading 3")
            y += leading + apart
        if rng.random() < numbered:
            put(f"{number}" + stop, left + rng.choice([0, 0, 0.3]) * size, indent, 2 * block + 1, "list item")
            number += 1
        end, lettered = indent, rng.random() < 0.1
        for row in range(rng.choice([1, 1, 1, 2, 3])):
            y += leading if row else 0.0
            text = source.text.phrase(rng, category, rng.randint(1, 12))
            text = f"{'abc'[row]}. {text}" if lettered else text
            end = put(text, indent, right - 4.5 * size, 2 * block + 1, "list item")
            if lettered:
                price = f"{rng.randint(1, 400)}"
                put(price, right - 0.55 * size * len(price), right + size, 2 * block + 1, "list item")
        if not lettered and rng.random() < priced:
            price = f"{rng.randint(1, 4000)}" + rng.choice(["", "", ".50", ".—"])
            at = right - 0.55 * size * len(price)
            room = int((at - end) / (0.3 * size)) - 3
            price = "." * room + " " + price if dots and room > 2 else price
            put(price, end + 0.5 * size if price[0] == "." else at, right + size, 2 * block + 1, "list item")
        y += leading
    return LinePage(genre="entries", width_pt=width, height_pt=y + 4 * size, lines=tuple(lines))
