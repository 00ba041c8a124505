"""Pages of tables whose lines are placed, not typeset: reference cards, tables as browsers print them, catalogues."""

import random
from collections.abc import Callable

from ocr.line_reader.structure_network import ROLES
from ocr.training.pages.blocks.block_templates import LISTS, listed
from ocr.training.pages.page_source import PageSource
from ocr.training.structure.line_noise import cut
from ocr.training.structure.page_parts import shifted
from ocr.training.structure.placed_lines import MOST, LinePage, frame, put_line, width_of, wrapped
from ocr.training.structure.true_lines import Box, Place, TrueLine

_GOES_ON = "<"  # a cell of the one before it
_SUNK = (0.0, 0.0, 0.5, 1.0)  # how far cells of fewer lines than their row stand from its top to its foot
# Of tables as browsers print them.
_STYLES = listed("table_styles.yaml")
_HEADED = frozenset({"told", "told twice", "named", "single", "options", "explained"})
_GROUPED = frozenset({"declared", "members"})  # whose rows have names above them that are rows
_FIGURES = range(-9, 1)  # kinds of columns: whole numbers of so many digits, others


def reference(rng: random.Random, source: PageSource) -> LinePage:
    """Returns a reference card: columns of sections, whose rows say in two to five cells what is written how.

    Cells may have several lines, those of a column fill it. The last one ends at the right or starts at a stop, and
    further left where it is long. Sections without a name are tables stacked with little between, each with columns of
    its own on some cards; some have a row of heads, some cells are figures that end at the right.
    """
    size, count = rng.uniform(5.0, 10.0), rng.choice([1, 1, 2, 2, 3, 3, 4, 5])
    wide, gap = rng.uniform(22, 48 if count > 1 else 140) * size, rng.uniform(1.0, 4.0) * size
    many = rng.choice([5, 16, 16])
    left, high, leading = rng.uniform(2, 6) * size, rng.uniform(50, 90) * size, rng.uniform(1.1, 1.5) * size
    category, lines = source.text.category(rng), list[TrueLine]()
    block, table, y, foot = 0, -1, left + rng.choice([0, 4]) * size, left
    paragraphs, several = rng.random() * 0.5, rng.choice([0, 0, 0.1, 0.4, 0.8])
    stacked, anew, headed = rng.choice([0, 0, 0.5, 0.9]), rng.random() < 0.3, rng.choice([0, 0, 0.5, 1])
    flush, coded, programs = rng.random() < 0.3, rng.random() < 0.6, rng.choice([0, 0, 0.3])
    rules, ruled, parted = list[Box](), rng.choice([0.0, 0.0, 0.3, 1.0]), rng.random() < 0.2
    filled, once = rng.choice([0, 0, 0.5, 0.9]), rng.random() < 0.3
    sunk, lined = rng.choice(_SUNK), rng.choice([0, 0, 0.8])

    def phrase(few: int, most: int) -> str:
        return source.text.phrase(rng, category, rng.randint(few, most))

    def put(text: str, x: float, room: float, role: str, scale: float = 1.0) -> float:
        return put_line(lines, text, (x, room, y), scale * size, Place(block, ROLES.index(role)))

    def columns() -> tuple[list[float], set[int], int]:
        drawn = [0.0]
        for stop in sorted(rng.uniform(0.08, 0.85) for _ in range(rng.choice([1, 1, 1, 2, 3, 4]))):
            drawn += [stop] if stop - drawn[-1] > 6 * size / wide else []
        figures = set(range(1, len(drawn))) if rng.random() < 0.25 else set[int]()
        return drawn, figures, rng.choice([at for at in range(len(drawn)) if at not in figures])

    stops, figures, full = columns()
    alone = False
    if y > left:
        alone = rng.random() < 0.4  # over the first column
        title, at = phrase(2, 5), left + rng.uniform(0, 0.3 if alone else 0.6) * wide
        put(title, at, left + (wide if alone else count * (wide + gap)), "title", rng.uniform(1.4, 2.4))
        y += 3 * size
    top = y
    for column in range(count):
        x, y = left + column * (wide + gap), left + size if alone and column else top
        right, end_of_column = x + wide, top + high * (rng.uniform(0.3, 1.0) if rng.random() < 0.3 else 1.0)
        while y < end_of_column and len(lines) < MOST:
            block, first = block + 1, once and not anew and y == top
            if not first and rng.random() >= stacked:
                level = rng.choice(["heading 2", "heading 3"])
                put(phrase(1, 4), x, right, level, rng.choice([1.0, 1.0, 1.15, 1.3]))
                y, block = y + rng.uniform(1.0, 1.4) * leading, block + 1
            if anew:
                stops, figures, full = columns()
            if not first and rng.random() < paragraphs:
                for _ in range(rng.randint(1, 5)):
                    put(phrase(6, 30), x, right, "text")
                    y += leading
                block += 1
            if not first and rng.random() < programs:
                for _ in range(rng.randint(1, 12)):
                    ended = put(phrase(1, 6).lower(), x + rng.choice([0, 0, 2]) * size, right, "code")
                    at = max(ended + size, x + stops[-1] * wide)
                    if rng.random() < 0.5 and at < right - 4 * size:
                        put("# " + phrase(1, 8), at, right, "code")
                    y += leading
                block += 1
            table, has_head = table + 1, first or rng.random() < headed
            for row in range(1 if first else rng.randint(1, many)):
                start, end, indent, before = y, y, rng.choice([0.0, 0.0, 0.0, 1.5]) * size, x
                is_head, begun = has_head and not row, len(lines)
                for cell, stop in enumerate(stops):
                    y, last = start, cell == len(stops) - 1
                    at = x + stop * wide + (0.0 if cell else indent)
                    room = right if last else x + stops[cell + 1] * wide - 0.8 * size
                    role = ROLES.index("table head" if is_head else "table cell")
                    own = Place(block, role, table, (row, row), (cell, cell))
                    fills = cell == full and not first and rng.random() < filled
                    has_several = rng.random() < several and not first and cell not in figures
                    of_cell = rng.randint(2, 3) if has_several else 1
                    for line in range(of_cell):
                        y += leading if line else 0.0
                        ends = line == of_cell - 1
                        text = phrase(1, 8 if cell < 2 else 4) if ends else phrase(6, 20)
                        text = f"{phrase(20, 40)} {text}" if fills and not (ends and line) else text
                        if cell in figures:
                            text = phrase(1, 2) if is_head else _cell(rng, str, 0)
                            at = max(at, before, room - 0.55 * size * len(text))
                        elif last and coded and not is_head:
                            text = f"{text.split()[0].lower()}({', '.join(text.lower().split()[1:])})"
                        if last and cell not in figures and (flush or rng.random() < 0.1) and not line:
                            at = max(before, at - 6 * size, right - 0.5 * size * len(text))
                        before = put_line(lines, text, (at, room, y), size, own) + 0.8 * size
                    end = max(end, y)
                _lower(lines, begun, sunk)
                y = end + leading
                rules += frame((x, end + 0.3 * leading, right, y), "t") if rng.random() < lined else []
            at = y - 0.8 * leading
            end = x + rng.choice([1.0, 1.0, 0.5]) * wide
            rules += frame((x, at, end, at), "t") if rng.random() < ruled else []
            y += rng.uniform(0.2, 1.5) * leading
        foot = max(foot, y)
        rules += frame((x - gap / 2, top - size, x - gap / 2, y), "l") if parted and column else []
    width = 2 * left + count * (wide + gap) - gap
    if rng.random() < 0.3:
        y, foot, block = foot + 3 * size, foot + 4 * size, block + 1
        put(f"{rng.randint(1, 90)}", width * rng.uniform(0.45, 0.55), width, "page number")
    return LinePage.of("reference", (width, foot + left), lines[:MOST], rules)


def tight(rng: random.Random, source: PageSource) -> LinePage:
    """Returns a page as a browser prints it: text, and tables as wide as their words, with little between columns,
    or as wide as the page.

    Some say what a program declares: types that end in one place before names, members of a class beside its name,
    what each means below it or in the middle of a column. Some are two or three rows far apart. Some cells go on below
    with room beside them, as of bookings. Names with what they mean, one word or much text in a cell, are others.
    """
    size, wide, left = rng.uniform(6.0, 11.0), rng.uniform(35, 80), rng.uniform(2, 6)
    category, lines, block, y = source.text.category(rng), list[TrueLine](), 0, rng.uniform(2, 12)
    leading, rules = rng.uniform(1.15, 1.6), list[Box]()

    def phrase(most: int) -> str:
        return source.text.phrase(rng, category, rng.randint(1, most))

    def put(text: str, x: float, room: float, place: Place, scale: float = 1.0) -> None:
        put_line(lines, text, (x * size, room * size, y * size), scale * size, place)

    def paragraph(most: int) -> None:
        nonlocal block, y
        block += 1
        for _ in range(rng.randint(1, most)):
            put(source.text.phrase(rng, category, 30), left, left + wide, Place(block, ROLES.index("text")))
            y += leading

    between = rng.choice([1, 1, 1, 0])  # tables may be stacked
    for table in range(rng.choice([1, 1, 1, 2, 3]) if between else rng.randint(2, 4)):
        for _ in range(rng.choice([0, 1, 1, 2]) * between):
            paragraph(6)
            words = len(lines[-1].words)
            lines[-1:] = cut(lines[-1], range(rng.randint(1, words), words)[:1])[:1]
            y += rng.uniform(0.0, 1.2)
        count, block, style = rng.choice([2, 2, 2, 3, 3, 4, 5]), block + 1, rng.choice([*[""] * 6, *_STYLES])
        if rng.random() < (0.1 if not style or style in _GROUPED else 0.5):
            y += 1.0
            name, scale = Place(block, ROLES.index("heading 2")), rng.choice([1, 1.2, 1.6])
            put(phrase(3), left, left + wide, name, scale)
            under = y + rng.uniform(0.3, 0.6)
            rules += frame((left, under, left + wide, under), "t") if rng.random() < 0.5 else []
            y, block = y + rng.uniform(1.4, 2.6), block + 1
        kinds = _kinds(rng, style, phrase) or [
            rng.choice([1, 2, 3, 6, 14]) if rng.random() < 0.8 else 0 for _ in range(count)
        ]
        length = rng.randint(2, 4) if rng.random() < 0.35 or style == "keyed" else rng.randint(3, 18)
        rows = [[_cell(rng, phrase, kind) for kind in kinds] for _ in range(length)]
        count, heads = len(kinds), int(rng.random() < (0.1 if style and style not in _HEADED else 0.5))
        if heads:
            rows[0] = [phrase(rng.choice([2, 2, 4])) for _ in kinds]
            rows[0] = [text.upper() for text in rows[0]] if rng.random() < 0.2 else rows[0]
        # What each means, below its name.
        if style == "declared" and (told := rng.choice([0.0, 0.3, 0.9, 1.0])):
            rows = [own for row in rows for own in (row, ["", phrase(12)])[: 1 + (rng.random() < told)]]
        if style in _GROUPED and rng.random() < 0.8:  # names of groups, no headings
            found = [n for n, row in enumerate(rows) if row[0] and n > heads]
            for at in sorted({heads, *rng.sample(found, min(len(found), rng.choice([0, 0, 1, 3])))})[::-1]:
                rows.insert(at, [phrase(4), *[_GOES_ON] * (len(kinds) - 1)])
        if not style and rng.random() < 0.15:  # of a spreadsheet, with the names of its columns and rows
            rows = [["", *"ABCDEF"[:count]], *([f"{n}", *row] for n, row in enumerate(rows, 1))]
            kinds, count, heads = [0, *kinds], count + 1, heads + 1
        most, sided = rng.uniform(0.3, 0.8) * wide, rng.choice(["lllr", "lllr", "lllr", "c"])
        shown = [row for row in rows if row[1] != _GOES_ON]
        if heads and rng.random() < 0.3:  # heads go on below in narrow columns
            shown[0] = [max(text.split(), key=len, default="") for text in shown[0]]
        widths = [min(most, max(width_of(row[n]) for row in shown)) for n in range(count)]
        heads += 0 if style in _GROUPED else _over_columns(rng, rows, phrase, heads)
        gap, sunk = rng.uniform(0.3, rng.choice([1.8, 1.8, 8.0])), rng.choice(_SUNK)
        plain = rng.random() < 0.5 and not sunk  # rows whose cells are sunk show where they end
        pitch = leading * (1.0 if plain else rng.uniform(1.2 if sunk else 1.0, rng.choice([1.6, 1.6, 3.2])))
        if (free := wide - sum(widths) - count * gap) > 0 and rng.random() < 0.3:  # as wide as the page
            widths = [own + free * own / sum(widths) for own in widths]
        longest = widths.index(max(widths))  # makes room where a table is wider than the page
        widths[longest] = min(widths[longest], max(12.0, widths[longest] + free))
        sides = [
            rng.choice(sided) if sided == "c" or n == 0 or kinds[n] in _FIGURES else "l" for n in range(count)
        ]
        sides[0] = rng.choice("rrl") if style == "declared" else sides[0]
        ruled = rng.choice(["", "", "", "rows", "grid", "head", "frame"])
        edges = [left + sum(widths[:n]) + (n - 0.5) * gap for n in range(count + 1)]
        x0, x1, start = edges[0], edges[-1], y - 0.9
        larger = rng.choice([1, 1, 1.15, 1.4]) if style in _GROUPED else 1.0  # names of groups
        goes_below = rng.choice([0.0, 0.3, 0.8]) if "booked" in style or rng.random() < 0.2 else 0.0
        # Heads on a band, whose edges are no rules; rows of other heights; paragraphs in a cell; names further in.
        banded, loose, broken, inward = (
            rng.random() * (rng.random() < share) for share in (0.3, 0.2, 0.15 * (not sunk), 0.15)
        )
        apart, end_of_rule = rng.choice([0.0, 0.0, 0.2]) * gap, rng.choice([x1, x1, left + wide])
        for number, row in enumerate(rows):
            top, end, x, begun = y, y, left, len(lines)
            for column, text in enumerate(row):
                y, last = top, column
                while last + 1 < count and row[last + 1] == _GOES_ON:
                    last += 1
                room = sum(widths[column : last + 1]) + (last - column) * gap
                role = ROLES.index("table head" if number < heads else "table cell")
                place = Place(block, role, table, (number, number), (column, last))
                least = 0.6 * width_of(text) if number >= heads and rng.random() < goes_below else room
                deep = 0.0 if column or number < heads else inward * rng.choice([0.0, 0.3, 0.6])
                for part in wrapped(text, min(room, least)) if text != _GOES_ON else ():
                    free = max(0.0, room - width_of(part))
                    side, scale = ("l", larger) if last > column else (sides[column], 1.0)
                    begin = x + free * {"l": deep, "c": 0.5, "r": 1.0}["c" if number < heads else side]
                    put(part, begin, left + 3 * wide, place, scale)
                    end, y = max(end, y), y + leading * (1.6 if rng.random() < 0.3 * broken else 1.0)
                x += widths[column] + gap
            _lower(lines, begun, sunk)
            goes_on = style == "declared" and number + 1 < len(rows) and not rows[number + 1][0]
            y = end + (leading if goes_on else pitch + 3 * loose * rng.random())
            foot = y - 0.9 - 0.1 * pitch
            start = foot if banded and number < heads else start
            is_ruled = ruled in ("rows", "grid") or (ruled == "head" and number in (0, len(rows) - 1))
            cells = zip(edges, [*edges[1:-1], end_of_rule], strict=False) if apart else ((x0, end_of_rule),)
            for a, b in cells if is_ruled and not goes_on else ():
                rules += frame((a + apart, foot, b - apart, foot), "t")
        if ruled in ("rows", "grid", "frame", "head"):
            rules += frame((x0, start, x1, foot), "lrtb" if ruled in ("grid", "frame") else "t")
        rules += [(edge, start, edge, foot) for edge in edges[1:-1]] if ruled == "grid" else []
        y += rng.uniform(0.0, 1.5)
    if rng.random() < 0.6:
        paragraph(5)
    width = (2 * left + wide) * size
    drawn = ((x0 * size, y0 * size, x1 * size, y1 * size) for x0, y0, x1, y1 in rules)
    high = max(y * size + left, rng.choice([1.0, 1.0, 1.4]) * width)
    return LinePage.of("tight", (width, high), lines[:MOST], drawn)


def entries(rng: random.Random, source: PageSource) -> LinePage:
    """Returns a catalogue's page or a menu's columns: entries under names, with numbers at the left and prices at the
    right. What is told of a dish, after its price, stands below it.
    """
    plain, size, prices = rng.random() < 0.3, rng.uniform(7.0, 12.0), rng.choice([1, 1, 1, 2])
    count = rng.choice([2, 2, 3, 4] if plain else [1, 1, 2, 2, 2, 3])
    width = rng.uniform(300, 600) if count == 1 else rng.uniform(17, 38) * size
    from_left, to_right, top = rng.uniform(0.06, 0.15), rng.uniform(0.85, 0.95), rng.uniform(3, 12) * size
    hung, number, y = rng.choice([0.0, rng.uniform(2.0, 5.0)]) * size, rng.randint(1, 900), top
    leading, category, lines = rng.uniform(1.15, 1.6) * size, source.text.category(rng), list[TrueLine]()
    priced, numbered, named = rng.choice([1.0, 0.8, 0.5, 0.0]), rng.choice([1.0, 0.8, 0.0]), rng.random()
    dots, centred, words = rng.random() < 0.3, rng.random() < 0.6, rng.choice([2, 6])
    apart, stop = rng.choice([0.0, 0.4, 1.0]) * size, rng.choice([".", ".", "", ")"])
    money = rng.choice(["{}", "{}", "{}.50", "{}.—", "{},90 €", "€ {}", "${}.95", "{}.00"])
    block, foot, numbered, over = 0, top, numbered if hung else 0.0, rng.uniform(0, 0.8) * size
    steady = rng.choice([0, rng.randint(3, 8)])  # so many under each name, level in all columns
    every, alike, told = steady * rng.randint(1, 4), rng.choice([1, 1, 2]), rng.choice([0.0, 0.0, 0.4, 1.0])
    most, priced = rng.choice([3, 5, 12]), 1.0 if steady and rng.random() < 0.7 else priced
    small = rng.choice([1.0, 0.9, 0.8, 0.8, 0.7])  # what is told
    larger, indented, has_names = rng.choice([1.0, 1.0, 1.3, 1.6]), rng.choice([0.0, 0.3]), rng.random() < 0.8

    def put(text: str, x: float, room: float, block: int, role: str, scale: float = 1.0) -> float:
        return put_line(lines, text, (x, room, y), scale * size, Place(block, ROLES.index(role)))

    def price(end: float, block: int) -> None:
        for ahead in range(prices - 1, -1, -1):
            text = money.format(rng.randint(1, rng.choice([40, 400, 4000])))
            at = right - (width_of(text) + 5.5 * ahead) * size
            room = int((at - end) / (0.3 * size)) - 3
            text = "." * room + " " + text if dots and room > 2 else text
            put(text, end + 0.5 * size if text[0] == "." else at, right + size, block, "list item")
            end = right - 5.5 * ahead * size

    if plain:  # a price list
        has_names, numbered, priced, prices, told = False, 0.0, 1.0, 1, 0.0
        steady, every, alike, most = 1, rng.randint(5, 40), 1, rng.choice([2, 3, 5])
    if rng.random() < 0.3:  # over all columns
        text = source.text.phrase(rng, category, rng.randint(1, 4))
        put_line(
            lines, text, (count * width * rng.uniform(0.1, 0.5), count * width, y), 2 * size, Place(0, 1)
        )
        y = top = top + 4 * size
    if rng.random() < 0.4:
        for text, x in (("No.", from_left * width), ("Fr.", to_right * width - 2 * size)):
            put(text, x, width, 0, "text")
        y = top = top + leading + apart
    for column in range(count):
        left, right, y = (column + from_left) * width, (column + to_right) * width, top
        for entry in range(every or rng.randint(5, 35)):
            block += 1
            if has_names and entry % steady == 0 if steady else rng.random() < named:
                y += apart + (over if steady else rng.uniform(0, 0.8) * size)
                text = source.text.phrase(rng, category, rng.randint(1, words))
                middle = (left + right - 0.5 * larger * size * len(text)) / 2
                x = max(left, middle) if centred else left + indented * rng.random() * (right - left)
                put(text, x, right, 2 * block, "heading 3", larger)
                y += leading + apart
            if rng.random() < numbered:
                x = left + rng.choice([0, 0, 0.3]) * size
                put(f"{number}" + stop, x, left + hung, 2 * block + 1, "list item")
                number += 1
            end, lettered, is_told = left + hung, rng.random() < 0.1, rng.random() < told
            rows, is_priced = alike if steady else rng.choice([1, 1, 1, 2, 3]), rng.random() < priced
            for row in range(rows):
                y += leading if row else 0.0
                text = source.text.phrase(rng, category, rng.randint(1, most))
                text = f"{'abc'[row]}. {text}" if lettered else text
                room = right - (4.5 if row == 0 or not is_told else 1.0) * size - 5.5 * (prices - 1) * size
                end = put(
                    text, left + hung, room, 2 * block + 1, "list item", small if is_told and row else 1.0
                )
                if lettered or (is_priced and row == (0 if is_told else rows - 1)):
                    price(end, 2 * block + 1)
            y += leading + (apart if told else 0.0)
        foot = max(foot, y)
    return LinePage.of("entries", (count * width, foot + 4 * size), lines[:MOST])


def _lower(lines: list[TrueLine], first: int, share: float) -> None:
    """Moves the cells of a row, its lines from the first on, down by this share of what they leave free of it."""
    ends = {line.place.columns: line.base for line in lines[first:]}
    foot = max(ends.values(), default=0.0)
    lines[first:] = [
        shifted(line, 0.0, line.base + share * (foot - ends[line.place.columns]), 1.0)
        for line in lines[first:]
    ]


def _kinds(rng: random.Random, style: str, phrase: Callable[[int], str]) -> list[int | str]:
    """Returns what the columns of a table of this style are of; none of one without."""
    drawn = map(rng.choice, _STYLES.get(style, ()))
    return [phrase(1).title().strip("{}") if kind == "name" else kind for kind in drawn if kind != ""]


def _cell(rng: random.Random, phrase: Callable[[int], str], kind: int | str) -> str:
    """Returns a cell's text: a phrase of up to so many words, a figure from 0 down, one of a list with names in it."""
    if isinstance(kind, str):
        first, second, third = (phrase(1).strip(".,;:") for _ in range(3))
        return rng.choice(LISTS.get(kind, [kind])).format(first.lower(), second.title(), third.lower())
    if kind < 0:
        return f"{rng.randrange(10**-kind)}"
    return phrase(kind) if kind else f"{rng.uniform(0, 10 ** rng.randint(1, 5)):,.{rng.choice([0, 2])}f}"


def _over_columns(rng: random.Random, rows: list[list[str]], phrase: Callable[[int], str], heads: int) -> int:
    """Empties cells, puts names over several columns, above heads and in place of rows; returns the rows added."""
    count, named = len(rows[0]), rng.choice([0, 0, 0, 0.15])
    empty = [0.0, *rng.choices([0.0, 0.0, rng.choice([0.0, 0.1, 0.4, 0.8])], k=count - 1)]
    for row in rows[heads:]:
        row[:] = ["" if rng.random() < share else text for share, text in zip(empty, row, strict=True)]
        if rng.random() < named:
            row[:] = [phrase(4), *[_GOES_ON] * (count - 1)]
    if not heads or count < 3 or rng.random() < 0.6:
        return 0
    first = rng.randint(0, count - 2)
    end = rng.randint(first + 2, count)
    over = [phrase(2), *[_GOES_ON] * (end - first - 1)]
    after = [phrase(1) if rng.random() < 0.5 else "" for _ in range(end, count)]
    rows.insert(0, [*[""] * first, *over, *after])
    return 1
