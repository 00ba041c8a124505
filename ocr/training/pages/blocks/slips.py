"""Slips of tills and card readers: shop, dates and numbers, goods in many forms, sums, taxes, small talk.

slips.yaml says what may stand on a line, as templates.
"""

import html
import string
from collections.abc import Sequence
from dataclasses import dataclass

from ocr.training.pages.blocks.block_templates import listed
from ocr.training.pages.blocks.listings import preformatted
from ocr.training.pages.blocks.page_writer import Writer

Line = Sequence[str]
_LINES = listed("slips.yaml")


def amount(value: float, *, comma: bool = False) -> str:
    """Returns an amount with two decimals and thousands separators, the German way round if `comma`."""
    text = f"{value:,.2f}"
    return text.translate(str.maketrans(",.", ".,")) if comma else text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slip:
    """The print of one till. width: in characters. capitals: nothing but those."""

    w: Writer
    width: int
    comma: bool
    capitals: bool
    currency: str
    mark: str

    def filled(self, template: str, **money: float) -> str:
        """Returns one of a template's alternatives, with words, numbers and amounts in its holes."""
        rng = self.w.rng
        starts, _, end = template.partition("||")
        words = html.unescape(self.w.words(1, 4))
        return (rng.choice(starts.split("|")) + end).format(
            words=words.upper() if self.capitals else words, Words=words.upper(),
            host=words.split(" ")[0].lower(), digits=self._digits(1, 5), number=self._digits(5, 13),
            letter=rng.choice(string.ascii_uppercase), day=rng.randint(1, 31), month=rng.randint(1, 12),
            year=rng.randint(10, 29), hour=rng.randint(0, 23), minute=rng.randint(0, 59),
            currency=self.currency, mark=self.mark, count=int(money.pop("count", 1)),
            rate=int(money.pop("rate", 0)),
            **{name: amount(value, comma=self.comma) for name, value in money.items()},
        )  # fmt: skip

    def line(self, line: Line, **money: float) -> str:
        """Returns a line, filled, with its right part flush right."""
        return self.sides(*(self.filled(part, **money) for part in line))

    def sides(self, left: str, right: str) -> str:
        left = left[: max(1, self.width - len(right) - 1)]
        return (left + right.rjust(self.width - len(left)))[: self.width].rstrip()

    def centred(self, text: str) -> str:
        return text[: self.width].strip().center(self.width).rstrip()

    def _digits(self, low: int, high: int) -> str:
        return "".join(self.w.rng.choices(string.digits, k=self.w.rng.randint(low, high)))


def slip(w: Writer) -> str:
    """Returns a slip in a monospaced column: parts in their usual order, some left out."""
    rng = w.rng
    made = _Slip(
        w=w,
        width=max(18, min(48, w.fits())),
        comma=w.chance(0.35),
        capitals=w.chance(0.4),
        currency=rng.choice(["", "", "$", "€", "£", "RM ", "EUR ", "CHF ", "kr ", "zł "]),
        mark=rng.choice(["", "", " A", " T", "*", " SR", " 1"]),
    )
    goods, total = _goods(made)
    paid, rate = total * rng.uniform(1, 1.3), rng.choice([5, 6, 7, 8, 9, 10, 19, 20, 21, 23, 25])
    money = {"total": total, "paid": paid, "change": paid - total, "rate": rate, "price": total / 10}
    money |= {"tax": total * rate / (100 + rate), "net": total * 100 / (100 + rate)}
    chosen = [
        *rng.sample(_LINES["before the total"], rng.randint(0, 2)),
        _LINES["total"],
        *_LINES["paid"][: rng.randint(0, 2)],
    ]
    head = [made.line(line) for line in _LINES["head"][: rng.randint(1, 4)]]
    head += [made.line(line) for line in rng.sample(_LINES["numbers"], rng.randint(0, 2))]
    parts = [
        [made.centred(line) for line in head] if w.chance(0.75) else head,
        _fields(made),
        goods,
        [made.line(line, **money) for line in chosen],
        [made.line(_LINES["tax"], **money) for _ in range(rng.randint(1, 2))],
        _fields(made),
        [made.centred(made.filled(_LINES["said"])) for _ in range(rng.randint(1, 4))],
    ]
    ruler = (rng.choice(["-", "=", "*", "- ", "_", ".", "#"]) * made.width)[: made.width].rstrip()
    lines: list[str] = []
    for number, part in enumerate(parts):
        if number in (0, 2, 3) or w.chance(0.5):
            lines += [ruler if w.chance(0.65) else ""] if lines and w.chance(0.7) else []
            lines += part
    return preformatted(lines)


def _fields(s: _Slip) -> list[str]:
    rng, colon = s.w.rng, s.w.rng.choice([":", ": ", " : ", " "])
    lines, spread = [], rng.random() < 0.4
    for names in rng.choices(list(_LINES["fields"]), k=rng.randint(1, 6)):
        name, value = rng.choice(names.split("|")) + colon, s.filled(_LINES["fields"][names])
        lines.append(s.sides(name.rstrip(), value) if spread else f"{name}{value}"[: s.width])
    return lines


def _goods(s: _Slip) -> tuple[list[str], float]:
    """Returns the lines of what was bought, all in one form, and what it costs."""
    rng, total, form = s.w.rng, 0.0, s.w.rng.choice(_LINES["goods"])
    lines = [s.line(_LINES["columns"])] if rng.random() < 0.2 else []
    for _ in range(rng.randint(1, 18)):
        count, price = rng.choice([1, 1, 1, 2, 3, 6, 12]), rng.randint(5, 19999) / 100
        total += count * price
        lines += [s.line(line, count=count, price=price, cost=count * price) for line in form]
        lines += [s.line(_LINES["discount"], price=price / 10)] if rng.random() < 0.05 else []
    return lines, total
