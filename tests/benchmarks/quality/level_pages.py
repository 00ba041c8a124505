"""Draws the lines of pages whose columns are level: menus, price lists, labels, two languages, cards. None trains."""

import random
from collections.abc import Callable, Iterator

import pymupdf

from ocr.training.structure.line_noise import found
from ocr.training.structure.placed_lines import LinePage
from ocr.training.structure.true_lines import Place, TrueLine

_FONTS = pymupdf.Font("helv"), pymupdf.Font("hebo")
_FOOD = (
    "Tomato soup", "Garlic bread", "Smoked trout", "Goat cheese salad", "Onion rings", "Roast chicken", "Lamb stew",
    "Mushroom risotto", "Pork cutlet", "Apple crumble", "Ice cream", "Cheese board", "Espresso", "Mint tea", "Lemonade",
)  # fmt: skip
_HEADS = ("Starters", "Main courses", "Desserts", "Drinks", "Sides", "Wines", "Breakfast", "Coffee", "Soups")
_TOLD = ("with basil and cream", "toasted, with parsley butter", "with horseradish", "walnuts and pear")
_PEOPLE = ("Daniel Price", "Anna Weber", "John Carter", "Maria Lopez", "Ivo Novak", "Lena Smith")
_STREETS, _TOWNS = ("Station Road", "Lindenweg", "Orchard Street"), ("Lower Marsh", "Berlin", "Bath")
_LANGUAGES = (
    "The pool opens at seven and closes at nine in the evening. Children under ten swim with an adult. Glass, food and"
    " dogs stay outside. Lockers take a coin, which comes back. Whoever is ill stays away from the water.",
    "Das Bad öffnet um sieben und schließt um neun Uhr abends. Kinder unter zehn Jahren schwimmen mit Erwachsenen."
    " Glas, Speisen und Hunde bleiben draußen. Schränke nehmen eine Münze. Wer krank ist, bleibt dem Wasser fern.",
)


class _Sheet:
    def __init__(self, width: float = 595, height: float = 842) -> None:
        self.size, self.lines, self.block = (width, height), list[TrueLine](), 0

    def put(self, x: float, y: float, text: str, size: float = 10, bold: bool = False, at: float = 0) -> None:
        """Puts a line. at: the share of it that stands left of x."""
        font, words = _FONTS[bold], list[tuple[float, float]]()
        x -= at * font.text_length(text, size)
        for word in text.split():
            start = words[-1][1] + font.text_length(" ", size) if words else x
            words.append((start, start + font.text_length(word, size)))
        place, own = Place(self.block, 0), {"x0": x, "x1": words[-1][1], "base": y, "size": size}
        self.lines.append(TrueLine(text=text, words=tuple(words), place=place, order=len(self.lines), **own))

    def wrapped(self, x: float, y: float, text: str, size: float, room: float) -> float:
        line = ""
        for word in [*text.split(), ""]:
            if line and (not word or _FONTS[0].text_length(f"{line} {word}", size) > room):
                self.put(x, y, line, size)
                line, y = "", y + 1.25 * size
            line = f"{line} {word}".strip()
        return y


def menu(rng: random.Random) -> _Sheet:
    sheet, count, gap = (
        _Sheet(*rng.choice([(595, 842), (842, 595)])),
        rng.choice([2, 2, 3]),
        rng.choice([20, 30, 60]),
    )
    wide, told, many = (sheet.size[0] - 80 - (count - 1) * gap) / count, rng.random() < 0.3, rng.randint(3, 6)
    sheet.put(sheet.size[0] / 2, 60, "Menu", 24, True, 0.5)
    heads, sections, money = iter(_HEADS), rng.choice([1, 2, 3]), rng.choice(["{}.50", "€ {}.00", "${}.90"])
    for column in range(count):
        x, y = 40 + column * (wide + gap), 100.0
        for _ in range(sections):
            sheet.put(x, y, next(heads), 13, True)
            y, sheet.block = y + 22, sheet.block + 1
            for _ in range(many):
                sheet.put(x, y, rng.choice(_FOOD))
                sheet.put(x + wide, y, money.format(rng.randint(3, 28)), at=1)
                if told:
                    sheet.put(x, y + 13, rng.choice(_TOLD), 8)
                y, sheet.block = y + 13 + 15 * told, sheet.block + 1
            y += 14
    return sheet


def prices(rng: random.Random) -> _Sheet:
    sheet, gap, count = _Sheet(), rng.choice([25, 40]), rng.randint(8, 30)
    wide = (515 - gap) / 2
    sheet.put(40, 50, "Price list", 18, True)
    for number in range(2 * count):
        x, y, sheet.block = 40 + number // count * (wide + gap), 90 + 14 * (number % count), number + 1
        sheet.put(x, y, rng.choice(_FOOD))
        sheet.put(x + wide, y, f"{rng.randint(3, 280)}.00", at=1)
    return sheet


def labels(rng: random.Random) -> _Sheet:
    sheet, (across, down) = _Sheet(), rng.choice([(2, 5), (3, 7), (2, 7), (3, 8)])
    for number in range(across * down):
        sheet.block, x, y = number, 30 + number % across * 535 / across, 50 + number // across * 780 / down
        street, town = (
            f"{rng.randint(1, 99)} {rng.choice(_STREETS)}",
            f"{rng.randint(10**4, 10**5)} {rng.choice(_TOWNS)}",
        )
        for row, text in enumerate((rng.choice(_PEOPLE), street, town)):
            sheet.put(x, y + 13 * row, text)
    return sheet


def languages(rng: random.Random) -> _Sheet:
    """Returns one beside the other: paragraphs that are level pair by pair, else all of one first.

    These are of other lengths, as level ones would show nothing but pairs.
    """
    sheet, gap, size, parts = _Sheet(), rng.choice([15, 25, 40]), rng.choice([9, 10, 11]), rng.randint(2, 5)
    sheet.put(40, 60, "House rules / Hausordnung", 16, True)
    is_level, rows, ends = rng.random() < 0.5, [text.split(". ") for text in _LANGUAGES], [100.0, 100.0]
    order = [(part, side) for part in range(parts) for side in range(2)]
    for part, side in order if is_level else sorted(order, key=lambda pair: pair[1]):
        told = (rows[side][part:] + rows[side][:part])[: None if is_level or side else 3]
        sheet.block, text = sheet.block + 1, ". ".join(told)
        y = max(ends) if is_level and not side else ends[side]
        ends = [y, y] if is_level and not side else ends
        ends[side] = sheet.wrapped(40 + side * (515 + gap) / 2, y, text, size, (515 - gap) / 2) + size
    return sheet


def card(rng: random.Random) -> _Sheet:
    sheet, name, kind = _Sheet(252, 144), rng.choice(_PEOPLE), rng.randrange(3)
    address = ("Greenfield Bakery Ltd", f"{rng.randint(1, 99)} {rng.choice(_STREETS)}", rng.choice(_TOWNS))
    numbers = ("T +44 20 7946 0018", "M +44 7700 900 123", "mail@greenfield.co.uk", "www.greenfield.co.uk")
    parts = [(16, 30, 0, ("GREENFIELD",))] if kind == 2 else []
    edge, at = (236, 1) if kind == 2 else (16, 0)
    parts += [(edge, 64 if kind == 2 else 30, at, (name, "Head of Sales"))]
    parts += [(16, 90, 0, address), (140, 90, 0, numbers)] if kind == 0 else [(edge, 90, at, numbers)]
    for sheet.block, (x, top, share, texts) in enumerate(parts):
        for row, text in enumerate(texts):
            sheet.put(x, top + 10 * row, text, 11 if text == name else 7, text == name, share)
    return sheet


KINDS: tuple[Callable[[random.Random], _Sheet], ...] = (menu, prices, labels, languages, card)


def level_pages(count: int) -> Iterator[LinePage]:
    """Yields so many pages of each kind as a finder finds their lines, always the same ones."""
    for kind in KINDS:
        for seed in range(count):
            sheet = kind(random.Random(seed))
            yield found(random.Random(seed), LinePage.of(kind.__name__, sheet.size, sheet.lines))
